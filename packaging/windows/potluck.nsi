; Installs Potluck for one person, without an administrator. Made with:
;
;     makensis -DVERSION=0.1.0 -DFOLDER=dist\potluck -DICON=potluck.ico -DOUT=potluck-0.1.0-setup.exe potluck.nsi
;
; -DSIGN="COMMAND" signs the uninstaller and the installer: %1 in it is the file, for example
; -DSIGN="signtool sign /fd sha256 /tr TIMESTAMP-SERVER /td sha256 %1"
Unicode true
!include MUI2.nsh
!include FileFunc.nsh

Name "Potluck"
OutFile "${OUT}"
InstallDir "$LOCALAPPDATA\Programs\Potluck"
InstallDirRegKey HKCU "Software\Potluck" "Folder"
RequestExecutionLevel user
SetCompressor /SOLID lzma
ManifestDPIAware true
!ifdef SIGN
  !finalize '${SIGN}'
  !uninstfinalize '${SIGN}'
!endif

!define GONE "Software\Microsoft\Windows\CurrentVersion\Uninstall\Potluck"
!define LOGIN "Software\Microsoft\Windows\CurrentVersion\Run"
!define LINKS "Software\Classes\potluck"
!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_FINISHPAGE_RUN "$INSTDIR\potluck.exe"
!insertmacro MUI_PAGE_WELCOME
!insertmacro MUI_PAGE_COMPONENTS
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"
!insertmacro MUI_LANGUAGE "German"

LangString atLogin ${LANG_ENGLISH} "Start at login, hidden beside the clock"
LangString atLogin ${LANG_GERMAN} "Bei der Anmeldung starten, verborgen neben der Uhr"
LangString alsoData ${LANG_ENGLISH} "Also delete the models, your key and the settings in$\n$0 ?$\nWithout the key you cannot go on as the same member."
LangString alsoData ${LANG_GERMAN} "Auch die Modelle, den Schlüssel und die Einstellungen löschen in$\n$0 ?$\nOhne den Schlüssel lässt sich nicht als dasselbe Mitglied weitermachen."

VIProductVersion "${VERSION}.0"
VIAddVersionKey /LANG=0 "ProductName" "Potluck"
VIAddVersionKey /LANG=0 "FileDescription" "Potluck Setup"
VIAddVersionKey /LANG=0 "FileVersion" "${VERSION}"
VIAddVersionKey /LANG=0 "ProductVersion" "${VERSION}"
VIAddVersionKey /LANG=0 "LegalCopyright" "The Potluck maintainers"

!macro Quit
  ; A program that runs holds its files: it finishes its round and ends.
  IfFileExists "$INSTDIR\potluck-cli.exe" 0 +3
  nsExec::Exec '"$INSTDIR\potluck-cli.exe" quit'
  Pop $1
!macroend

Section "Potluck"
  SectionIn RO
  !insertmacro Quit
  RMDir /r "$INSTDIR\_internal"
  SetOutPath "$INSTDIR"
  File /r "${FOLDER}/*"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortcut "$SMPROGRAMS\Potluck.lnk" "$INSTDIR\potluck.exe"
  WriteRegStr HKCU "Software\Potluck" "Folder" "$INSTDIR"
  WriteRegStr HKCU "${LINKS}" "" "URL:Potluck"
  WriteRegStr HKCU "${LINKS}" "URL Protocol" ""
  WriteRegStr HKCU "${LINKS}\shell\open\command" "" '"$INSTDIR\potluck.exe" "%1"'
  ${GetSize} "$INSTDIR" "/S=0K" $2 $3 $4
  WriteRegStr HKCU "${GONE}" "DisplayName" "Potluck"
  WriteRegStr HKCU "${GONE}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${GONE}" "DisplayIcon" "$INSTDIR\potluck.exe"
  WriteRegStr HKCU "${GONE}" "Publisher" "The Potluck maintainers"
  WriteRegStr HKCU "${GONE}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${GONE}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${GONE}" "EstimatedSize" $2
  WriteRegDWORD HKCU "${GONE}" "NoModify" 1
  WriteRegDWORD HKCU "${GONE}" "NoRepair" 1
SectionEnd

Section /o "$(atLogin)"
  WriteRegStr HKCU "${LOGIN}" "Potluck" '"$INSTDIR\potluck.exe" --hidden'
SectionEnd

Section "Uninstall"
  !insertmacro Quit
  RMDir /r "$INSTDIR\_internal"
  RMDir /r "$INSTDIR\versions"
  RMDir /r "$INSTDIR\updates"
  Delete "$INSTDIR\installed.json"
  Delete "$INSTDIR\root.json"
  Delete "$INSTDIR\potluck.exe"
  Delete "$INSTDIR\potluck-cli.exe"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\Potluck.lnk"
  DeleteRegValue HKCU "${LOGIN}" "Potluck"
  DeleteRegKey HKCU "${LINKS}"
  DeleteRegKey HKCU "${GONE}"
  DeleteRegKey HKCU "Software\Potluck"
  StrCpy $0 "$LOCALAPPDATA\potluck"
  IfFileExists "$0\*.*" 0 done
  MessageBox MB_YESNO|MB_ICONQUESTION|MB_DEFBUTTON2 "$(alsoData)" /SD IDNO IDNO done
  RMDir /r "$0"
done:
SectionEnd
