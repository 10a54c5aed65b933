<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
 <context>
  <name>potluck</name>
  <message>
   <source>  Outcome</source>
   <translation>  Ergebnis</translation>
  </message>
  <message>
   <source> About {kwh} kWh.</source>
   <translation> Etwa {kwh} kWh.</translation>
  </message>
  <message>
   <source> while training goes on</source>
   <translation>, während das Training weitergeht</translation>
  </message>
  <message>
   <source>&amp;1 hour</source>
   <translation>&amp;1 Stunde</translation>
  </message>
  <message>
   <source>&amp;4 hours</source>
   <translation>&amp;4 Stunden</translation>
  </message>
  <message>
   <source>&amp;Activity</source>
   <translation>&amp;Verlauf</translation>
  </message>
  <message>
   <source>&amp;Add one that runs…</source>
   <translation>Eines hinzufügen, das l&amp;äuft…</translation>
  </message>
  <message>
   <source>&amp;All at once, each at its own pace</source>
   <translation>&amp;Alle zugleich, jedes in seinem Tempo</translation>
  </message>
  <message>
   <source>&amp;Always</source>
   <translation>&amp;Immer</translation>
  </message>
  <message>
   <source>&amp;Another collaboration…</source>
   <translation>&amp;Anderes Projekt…</translation>
  </message>
  <message>
   <source>&amp;Another link</source>
   <translation>Anderer &amp;Link</translation>
  </message>
  <message>
   <source>&amp;Ask</source>
   <translation>&amp;Nachfragen</translation>
  </message>
  <message>
   <source>&amp;Ask the model</source>
   <translation>Das Modell &amp;fragen</translation>
  </message>
  <message>
   <source>&amp;Back</source>
   <translation>&amp;Zurück</translation>
  </message>
  <message>
   <source>&amp;Cancel</source>
   <translation>&amp;Abbrechen</translation>
  </message>
  <message>
   <source>&amp;Close the window</source>
   <translation>Fenster &amp;schließen</translation>
  </message>
  <message>
   <source>&amp;Compile the model first</source>
   <translation>Das Modell zuerst übers&amp;etzen</translation>
  </message>
  <message>
   <source>&amp;Contribute</source>
   <translation>&amp;Mitrechnen</translation>
  </message>
  <message>
   <source>&amp;Contribute on without it</source>
   <translation>Ohne Fenster weiter &amp;mitrechnen</translation>
  </message>
  <message>
   <source>&amp;Dark</source>
   <translation>&amp;Dunkel</translation>
  </message>
  <message>
   <source>&amp;Dismiss</source>
   <translation>S&amp;chließen</translation>
  </message>
  <message>
   <source>&amp;Do not let this computer fall asleep while it contributes</source>
   <translation>Diesen Rechner beim Mitrechnen nicht einsch&amp;lafen lassen</translation>
  </message>
  <message>
   <source>&amp;Download</source>
   <translation>H&amp;erunterladen</translation>
  </message>
  <message>
   <source>&amp;Go there</source>
   <translation>&amp;Dorthin</translation>
  </message>
  <message>
   <source>&amp;Graphics card</source>
   <translation>G&amp;rafikkarte</translation>
  </message>
  <message>
   <source>&amp;Help</source>
   <translation>&amp;Hilfe</translation>
  </message>
  <message>
   <source>&amp;High contrast</source>
   <translation>Hoher &amp;Kontrast</translation>
  </message>
  <message>
   <source>&amp;Home</source>
   <translation>&amp;Startseite</translation>
  </message>
  <message>
   <source>&amp;Hours</source>
   <translation>&amp;Zeiten</translation>
  </message>
  <message>
   <source>&amp;Join</source>
   <translation>&amp;Beitreten</translation>
  </message>
  <message>
   <source>&amp;Join a collaboration…</source>
   <translation>Einem &amp;Projekt beitreten…</translation>
  </message>
  <message>
   <source>&amp;Join another…</source>
   <translation>&amp;Anderem Projekt beitreten…</translation>
  </message>
  <message>
   <source>&amp;Join with a link…</source>
   <translation>Mit einem &amp;Link beitreten…</translation>
  </message>
  <message>
   <source>&amp;Light</source>
   <translation>&amp;Hell</translation>
  </message>
  <message>
   <source>&amp;Look at it</source>
   <translation>An&amp;sehen</translation>
  </message>
  <message>
   <source>&amp;Memory</source>
   <translation>S&amp;peicher</translation>
  </message>
  <message>
   <source>&amp;Model</source>
   <translation>&amp;Modell</translation>
  </message>
  <message>
   <source>&amp;Next</source>
   <translation>&amp;Weiter</translation>
  </message>
  <message>
   <source>&amp;Nights and weekends</source>
   <translation>Nächte und Wochenen&amp;den</translation>
  </message>
  <message>
   <source>&amp;Open Potluck</source>
   <translation>Potluck öff&amp;nen</translation>
  </message>
  <message>
   <source>&amp;Pause</source>
   <translation>&amp;Anhalten</translation>
  </message>
  <message>
   <source>&amp;Pause it</source>
   <translation>&amp;Anhalten</translation>
  </message>
  <message>
   <source>&amp;People</source>
   <translation>M&amp;itwirkende</translation>
  </message>
  <message>
   <source>&amp;Port</source>
   <translation>&amp;Port</translation>
  </message>
  <message>
   <source>&amp;Potluck</source>
   <translation>&amp;Potluck</translation>
  </message>
  <message>
   <source>&amp;Power</source>
   <translation>Leistun&amp;g</translation>
  </message>
  <message>
   <source>&amp;Quit</source>
   <translation>&amp;Beenden</translation>
  </message>
  <message>
   <source>&amp;Quit Potluck</source>
   <translation>Potluck &amp;beenden</translation>
  </message>
  <message>
   <source>&amp;Save</source>
   <translation>&amp;Speichern</translation>
  </message>
  <message>
   <source>&amp;Settings…</source>
   <translation>&amp;Einstellungen…</translation>
  </message>
  <message>
   <source>&amp;Start</source>
   <translation>&amp;Starten</translation>
  </message>
  <message>
   <source>&amp;Start Potluck</source>
   <translation>Potluck &amp;starten</translation>
  </message>
  <message>
   <source>&amp;Test the port</source>
   <translation>Port p&amp;rüfen</translation>
  </message>
  <message>
   <source>&amp;Threads of the processor</source>
   <translation>Kerne des Pr&amp;ozessors</translation>
  </message>
  <message>
   <source>&amp;Try again</source>
   <translation>&amp;Noch einmal</translation>
  </message>
  <message>
   <source>&amp;Try now</source>
   <translation>&amp;Jetzt versuchen</translation>
  </message>
  <message>
   <source>&amp;Upload</source>
   <translation>&amp;Hochladen</translation>
  </message>
  <message>
   <source>&amp;Use it again</source>
   <translation>Wieder &amp;nutzen</translation>
  </message>
  <message>
   <source>&amp;View</source>
   <translation>&amp;Ansicht</translation>
  </message>
  <message>
   <source>&amp;When to run</source>
   <translation>&amp;Wann es läuft</translation>
  </message>
  <message>
   <source>&amp;Whenever this computer is on, at low priority</source>
   <translation>&amp;Immer wenn dieser Rechner läuft, mit geringem Vorrang</translation>
  </message>
  <message>
   <source>&amp;Your name</source>
   <translation>Na&amp;me</translation>
  </message>
  <message>
   <source>, {done} of {total} pieces are here</source>
   <translation>, {done} von {total} Teilen sind da</translation>
  </message>
  <message>
   <source>1 volunteer here</source>
   <translation>1 wirkt mit</translation>
  </message>
  <message>
   <source>; {name} alone {right}</source>
   <translation>; {name} allein {right}</translation>
  </message>
  <message>
   <source>A card knows no priority: what is on the screen may stutter while it computes.</source>
   <translation>Eine Karte kennt keinen Vorrang: Während sie rechnet, ruckelt vielleicht der Bildschirm.</translation>
  </message>
  <message>
   <source>A damaged checkpoint was set aside as {0}. Training goes on from {1}.</source>
   <translation>Ein beschädigter Zwischenstand wurde als {0} beiseite gelegt. Das Training geht weiter ab {1}.</translation>
  </message>
  <message>
   <source>A day goes from 00:00 to 24:00.</source>
   <translation>Ein Tag geht von 00:00 bis 24:00.</translation>
  </message>
  <message>
   <source>A device is named twice.</source>
   <translation>Ein Gerät ist zweimal genannt.</translation>
  </message>
  <message>
   <source>A file is where a folder has to be: name another folder.</source>
   <translation>Wo ein Ordner sein muss, ist eine Datei: einen anderen Ordner nennen.</translation>
  </message>
  <message>
   <source>A limit is a number of bytes a month.</source>
   <translation>Eine Grenze ist eine Anzahl von Bytes im Monat.</translation>
  </message>
  <message>
   <source>A limit is a number of bytes a second.</source>
   <translation>Eine Grenze ist eine Anzahl von Bytes in der Sekunde.</translation>
  </message>
  <message>
   <source>A link has at most {0} addresses, not {1}.</source>
   <translation>Ein Link hat höchstens {0} Adressen, nicht {1}.</translation>
  </message>
  <message>
   <source>A link has at most {0} letters, not {1}.</source>
   <translation>Ein Link hat höchstens {0} Zeichen, nicht {1}.</translation>
  </message>
  <message>
   <source>A link looks like potluck://host:port/0123…#invitation; copy the whole of it from the organiser.</source>
   <translation>Ein Link sieht so aus: potluck://rechner:port/0123…#einladung. Bitte den ganzen Link kopieren, wie er von der Leitung kam.</translation>
  </message>
  <message>
   <source>A program fills the screen.</source>
   <translation>Ein Programm füllt den Bildschirm.</translation>
  </message>
  <message>
   <source>A router's own rule, if you make one, should lead TCP and UDP of this port here; none is needed.</source>
   <translation>Eine eigene Regel im Router sollte TCP und UDP dieses Ports hierher leiten; nötig ist keine.</translation>
  </message>
  <message>
   <source>A small GPT learns to write, letter by letter, as in the documentation that came with Python.</source>
   <translation>Ein kleines GPT lernt Buchstabe für Buchstabe zu schreiben wie die Dokumentation, die mit Python kam.</translation>
  </message>
  <message>
   <source>A small language model learns to fill in missing words in the documentation that came with Python.</source>
   <translation>Ein kleines Sprachmodell lernt fehlende Wörter in der Dokumentation zu ergänzen, die mit Python kam.</translation>
  </message>
  <message>
   <source>A step to epoch {0} was ordered at epoch {1}.</source>
   <translation>In Epoche {1} wurde ein Schritt zu Epoche {0} verlangt.</translation>
  </message>
  <message>
   <source>About and &amp;trust</source>
   <translation>Info und Ver&amp;trauen</translation>
  </message>
  <message>
   <source>About and trust</source>
   <translation>Info und Vertrauen</translation>
  </message>
  <message>
   <source>About {known}: an estimate.</source>
   <translation>Etwa {known}: eine Schätzung.</translation>
  </message>
  <message>
   <source>About {kwh} kWh</source>
   <translation>Etwa {kwh} kWh</translation>
  </message>
  <message>
   <source>About {needed}; {have}</source>
   <translation>Etwa {needed}; {have}</translation>
  </message>
  <message>
   <source>Account</source>
   <translation>Konto</translation>
  </message>
  <message>
   <source>Activity</source>
   <translation>Verlauf</translation>
  </message>
  <message>
   <source>Add `potluck engine` to what your system starts at login.</source>
   <translation>`potluck engine` in die Programme aufnehmen, die das System beim Anmelden startet.</translation>
  </message>
  <message>
   <source>All cores but one</source>
   <translation>Alle Kerne bis auf einen</translation>
  </message>
  <message>
   <source>All of them are used.</source>
   <translation>Alle werden genutzt.</translation>
  </message>
  <message>
   <source>All others are on this computer, so no port has to be open.</source>
   <translation>Alle anderen laufen auf diesem Rechner, also muss kein Port offen sein.</translation>
  </message>
  <message>
   <source>All who take part see this name and what this computer gave; a made-up name is fine.</source>
   <translation>Alle Mitwirkenden sehen diesen Namen und den Beitrag dieses Rechners; ein erfundener Name genügt.</translation>
  </message>
  <message>
   <source>Allow at least {0}, or choose no limit.</source>
   <translation>Bitte mindestens {0} erlauben, oder keine Grenze.</translation>
  </message>
  <message>
   <source>Allow at least {0}, or pause Potluck while it should use no network.</source>
   <translation>Bitte mindestens {0} erlauben, oder Potluck anhalten, solange es das Netz nicht nutzen soll.</translation>
  </message>
  <message>
   <source>Allow it more (on Linux: ulimit -n 4096), and start it again.</source>
   <translation>Mehr erlauben (unter Linux: ulimit -n 4096) und neu starten.</translation>
  </message>
  <message>
   <source>Allow more, or no limit: potluck settings memory none</source>
   <translation>Mehr erlauben, oder keine Grenze: potluck settings memory none</translation>
  </message>
  <message>
   <source>Always</source>
   <translation>Immer</translation>
  </message>
  <message>
   <source>Always on</source>
   <translation>Immer da</translation>
  </message>
  <message>
   <source>Another Potluck just made this computer's key.</source>
   <translation>Ein anderes Potluck hat gerade den Schlüssel dieses Rechners erzeugt.</translation>
  </message>
  <message>
   <source>Another computer of your account has ended this one.</source>
   <translation>Ein anderer Rechner desselben Kontos hat diesen ausgeschlossen.</translation>
  </message>
  <message>
   <source>Another is chosen as in: potluck settings device cpu; several as in: potluck settings device cuda:0,cpu</source>
   <translation>Ein anderes wählt man so: potluck settings device cpu; mehrere so: potluck settings device cuda:0,cpu</translation>
  </message>
  <message>
   <source>Any</source>
   <translation>Beliebig</translation>
  </message>
  <message>
   <source>Arrow keys move, Shift and arrow keys mark, Space opens or closes what is marked.</source>
   <translation>Pfeiltasten bewegen, Umschalt und Pfeiltasten markieren, die Leertaste öffnet oder schließt das Markierte.</translation>
  </message>
  <message>
   <source>As many as otherwise</source>
   <translation>So viele wie sonst</translation>
  </message>
  <message>
   <source>As measured or estimated</source>
   <translation>Gemessen oder geschätzt</translation>
  </message>
  <message>
   <source>As wor&amp;ds</source>
   <translation>Als W&amp;orte</translation>
  </message>
  <message>
   <source>Ask again</source>
   <translation>Noch einmal fragen</translation>
  </message>
  <message>
   <source>Ask on a computer that trains.</source>
   <translation>Auf einem Rechner fragen, der trainiert.</translation>
  </message>
  <message>
   <source>Ask the organiser for a link of its own.</source>
   <translation>Mit einem eigenen Link vom Organisator kommt dieser Rechner herein.</translation>
  </message>
  <message>
   <source>Ask the organiser for a new link.</source>
   <translation>Die Leitung des Projekts um einen neuen Link bitten.</translation>
  </message>
  <message>
   <source>Ask the organiser for the link of another collaboration.</source>
   <translation>Die Leitung um den Link eines anderen Projekts bitten.</translation>
  </message>
  <message>
   <source>Ask the organiser for the link.</source>
   <translation>Die Leitung des Projekts um den Link bitten.</translation>
  </message>
  <message>
   <source>Ask the organiser to update the backbone.</source>
   <translation>Die Leitung bitten, den Stützpunkt zu aktualisieren.</translation>
  </message>
  <message>
   <source>Asking the engine…</source>
   <translation>Der Dienst wird gefragt…</translation>
  </message>
  <message>
   <source>Asking the organiser's computer…</source>
   <translation>Der Rechner der Leitung wird gefragt…</translation>
  </message>
  <message>
   <source>At other times</source>
   <translation>Zu anderen Zeiten</translation>
  </message>
  <message>
   <source>Averaged</source>
   <translation>Gemittelt</translation>
  </message>
  <message>
   <source>Averaged {numbers} numbers for everybody in {rounds} rounds.</source>
   <translation>Hat in {rounds} Runden {numbers} Zahlen für alle gemittelt.</translation>
  </message>
  <message>
   <source>Averaging</source>
   <translation>Mittelt</translation>
  </message>
  <message>
   <source>Averaging {company}{meanwhile}: everyone's work becomes epoch {epoch} of the model.</source>
   <translation>Mittelt {company}{meanwhile}: Aus der Arbeit aller wird Epoche {epoch} des Modells.</translation>
  </message>
  <message>
   <source>Blank {number}</source>
   <translation>Lücke {number}</translation>
  </message>
  <message>
   <source>Bring them back.</source>
   <translation>Bitte zurückbringen.</translation>
  </message>
  <message>
   <source>By day</source>
   <translation>Nach Tagen</translation>
  </message>
  <message>
   <source>By round</source>
   <translation>Nach Runden</translation>
  </message>
  <message>
   <source>By the rules</source>
   <translation>Nach den Regeln</translation>
  </message>
  <message>
   <source>By the rules until {moment}</source>
   <translation>Nach den Regeln bis {moment}</translation>
  </message>
  <message>
   <source>By their receipts, {samples} samples were averaged: the model counts fewer, because a round was not kept or has only just ended.</source>
   <translation>Nach den Quittungen wurden {samples} Beispiele gemittelt: Das Modell zählt weniger, weil eine Runde nicht behalten wurde oder gerade erst zu Ende ist.</translation>
  </message>
  <message>
   <source>By this computer's clock, its pass does not hold now. Waiting for the backbone at {where} to renew it.</source>
   <translation>Nach der Uhr dieses Rechners gilt sein Ausweis jetzt nicht. Es wird gewartet, bis das Backbone bei {where} ihn erneuert.</translation>
  </message>
  <message>
   <source>C&amp;ancel</source>
   <translation>&amp;Abbrechen</translation>
  </message>
  <message>
   <source>Carbon dio&amp;xide</source>
   <translation>&amp;Kohlendioxid</translation>
  </message>
  <message>
   <source>Carry connections for &amp;others</source>
   <translation>Verbindungen für andere weiter&amp;leiten</translation>
  </message>
  <message>
   <source>Catching up</source>
   <translation>Holt auf</translation>
  </message>
  <message>
   <source>Catching up with the others, who are ahead{pieces}.</source>
   <translation>Holt die anderen ein, die voraus sind{pieces}.</translation>
  </message>
  <message>
   <source>Change its permissions, or set POTLUCK_HOME.</source>
   <translation>Die Zugriffsrechte ändern oder POTLUCK_HOME setzen.</translation>
  </message>
  <message>
   <source>Change the limits…</source>
   <translation>Grenzen ändern…</translation>
  </message>
  <message>
   <source>Change this rule…</source>
   <translation>Diese Regel ändern…</translation>
  </message>
  <message>
   <source>Change what Potluck ma&amp;y take…</source>
   <translation>Ä&amp;ndern, was Potluck nehmen darf…</translation>
  </message>
  <message>
   <source>Check that the file belongs to you.</source>
   <translation>Bitte prüfen, ob die Datei dem eigenen Benutzerkonto gehört.</translation>
  </message>
  <message>
   <source>Check that the folder belongs to you and is not read-only.</source>
   <translation>Bitte prüfen, ob der Ordner dem eigenen Benutzerkonto gehört und beschreibbar ist.</translation>
  </message>
  <message>
   <source>Check the disk.</source>
   <translation>Die Festplatte prüfen.</translation>
  </message>
  <message>
   <source>Check the link and your connection, and try again later.</source>
   <translation>Link und Verbindung prüfen und es später noch einmal versuchen.</translation>
  </message>
  <message>
   <source>Check this &amp;computer</source>
   <translation>Diesen &amp;Rechner prüfen</translation>
  </message>
  <message>
   <source>Check this comp&amp;uter</source>
   <translation>Diesen &amp;Rechner prüfen</translation>
  </message>
  <message>
   <source>Check this computer</source>
   <translation>Diesen Rechner prüfen</translation>
  </message>
  <message>
   <source>Check this computer, and say what to do.</source>
   <translation>Diesen Rechner prüfen und sagen, was zu tun ist.</translation>
  </message>
  <message>
   <source>Checking…</source>
   <translation>Wird geprüft…</translation>
  </message>
  <message>
   <source>Choose a whole number from {0} to {1}{2}.</source>
   <translation>Bitte eine ganze Zahl von {0} bis {1}{2} wählen.</translation>
  </message>
  <message>
   <source>Choose another name.</source>
   <translation>Einen anderen Namen wählen.</translation>
  </message>
  <message>
   <source>Choose another port.</source>
   <translation>Einen anderen Port wählen.</translation>
  </message>
  <message>
   <source>Choose auto, all, or one or more of cpu, cuda, cuda:1, mps and xpu with commas between them; potluck doctor says which there are.</source>
   <translation>Möglich sind auto, all, oder eines oder mehrere von cpu, cuda, cuda:1, mps und xpu mit Kommas dazwischen; potluck doctor sagt, welche es gibt.</translation>
  </message>
  <message>
   <source>Choose no limit instead.</source>
   <translation>Stattdessen „keine Grenze“ wählen.</translation>
  </message>
  <message>
   <source>Choose one of 1 to 40 letters, digits and spaces.</source>
   <translation>Einen Namen aus 1 bis 40 Buchstaben, Ziffern und Leerzeichen wählen.</translation>
  </message>
  <message>
   <source>Choose one of at most {0} letters, digits and spaces.</source>
   <translation>Bitte einen mit höchstens {0} Buchstaben, Ziffern und Leerzeichen wählen.</translation>
  </message>
  <message>
   <source>Choose one of this computer's addresses, or {0} for all.</source>
   <translation>Bitte eine Adresse dieses Rechners wählen, oder {0} für alle.</translation>
  </message>
  <message>
   <source>Choose one with letters of one.</source>
   <translation>Einen Namen mit Buchstaben einer einzigen Schrift wählen.</translation>
  </message>
  <message>
   <source>Choose one within the next {0} days.</source>
   <translation>Bitte einen innerhalb der nächsten {0} Tage wählen.</translation>
  </message>
  <message>
   <source>Choose others: potluck settings device auto</source>
   <translation>Andere wählt: potluck settings device auto</translation>
  </message>
  <message>
   <source>Click to open or close all of this day</source>
   <translation>Klicken, um den ganzen Tag zu öffnen oder zu schließen</translation>
  </message>
  <message>
   <source>Click to open or close this hour on all days</source>
   <translation>Klicken, um diese Stunde an allen Tagen zu öffnen oder zu schließen</translation>
  </message>
  <message>
   <source>Close &amp;window</source>
   <translation>Fenster s&amp;chließen</translation>
  </message>
  <message>
   <source>Close other programs, or choose another device: potluck settings device cpu</source>
   <translation>Bitte andere Programme schließen oder ein anderes Gerät wählen: potluck settings device cpu</translation>
  </message>
  <message>
   <source>Close that program, or choose another port; 0 lets the system choose.</source>
   <translation>Jenes Programm beenden oder einen anderen Port wählen; mit 0 wählt das System.</translation>
  </message>
  <message>
   <source>Close the window, or quit Potluck?</source>
   <translation>Fenster schließen oder Potluck beenden?</translation>
  </message>
  <message>
   <source>Co&amp;lours</source>
   <translation>&amp;Farben</translation>
  </message>
  <message>
   <source>Collaboration</source>
   <translation>Projekt</translation>
  </message>
  <message>
   <source>Compare a fingerprint with the one that its owner shows you: it cannot be imitated.</source>
   <translation>Einen Fingerabdruck mit dem vergleichen, den seine Inhaber zeigen: Er lässt sich nicht nachahmen.</translation>
  </message>
  <message>
   <source>Compare it with another.</source>
   <translation>Mit einer anderen Uhr vergleichen.</translation>
  </message>
  <message>
   <source>Compare the fingerprint with the one that the organiser shows you.</source>
   <translation>Bitte den Fingerabdruck mit dem vergleichen, den die Leitung zeigt.</translation>
  </message>
  <message>
   <source>Computed on: {device}</source>
   <translation>Gerechnet auf: {device}</translation>
  </message>
  <message>
   <source>Computes on</source>
   <translation>Rechnet auf</translation>
  </message>
  <message>
   <source>Computing</source>
   <translation>Rechnen</translation>
  </message>
  <message>
   <source>Connect it to train with others; potluck demo needs no network.</source>
   <translation>Ihn verbinden, um mit anderen zu trainieren; potluck demo braucht kein Netzwerk.</translation>
  </message>
  <message>
   <source>Connect to it</source>
   <translation>Mit ihm verbinden</translation>
  </message>
  <message>
   <source>Connected {0}, {1}.</source>
   <translation>Verbunden {0}, {1}.</translation>
  </message>
  <message>
   <source>Contribute</source>
   <translation>Mitrechnen</translation>
  </message>
  <message>
   <source>Contribute &amp;now for 1 hour</source>
   <translation>&amp;Jetzt 1 Stunde mitrechnen</translation>
  </message>
  <message>
   <source>Contribute (Space)</source>
   <translation>Mitrechnen (Leertaste)</translation>
  </message>
  <message>
   <source>Contribute now for 1 hour</source>
   <translation>Jetzt 1 Stunde mitrechnen</translation>
  </message>
  <message>
   <source>Contributing</source>
   <translation>Rechnet mit</translation>
  </message>
  <message>
   <source>Counting words</source>
   <translation>Zählt Wörter</translation>
  </message>
  <message>
   <source>Counting words, and pairs of them</source>
   <translation>Zählt Wörter und Wortpaare</translation>
  </message>
  <message>
   <source>Cut the text with `potluck data cut`, which writes one.</source>
   <translation>Bitte den Text mit `potluck data cut` zerlegen, das schreibt eines.</translation>
  </message>
  <message>
   <source>Data come again, and training has what it needs.</source>
   <translation>Die Daten kommen wieder, das Training hat, was es braucht.</translation>
  </message>
  <message>
   <source>Data stalled: finding out which files of {name} are meant took this computer too long or too much memory. It is tried again.</source>
   <translation>Keine Daten: Herauszufinden, welche Dateien von {name} gemeint sind, hat auf diesem Computer zu lange gedauert oder zu viel Speicher gebraucht. Es wird noch einmal versucht.</translation>
  </message>
  <message>
   <source>Data stalled: the certificate of {host} is not valid: {why}.</source>
   <translation>Keine Daten: Das Zertifikat von {host} gilt nicht: {why}.</translation>
  </message>
  <message>
   <source>Data stalled: there are too many files.</source>
   <translation>Keine Daten: Es sind zu viele Dateien.</translation>
  </message>
  <message>
   <source>Data stalled: there is no room on the disk, or too little of it for data is allowed.</source>
   <translation>Keine Daten: Auf der Festplatte ist kein Platz, oder es ist zu wenig davon für Daten erlaubt.</translation>
  </message>
  <message>
   <source>Data stalled: {host} does not let this computer read ({status}). The command potluck data login keeps a password for it.</source>
   <translation>Keine Daten: {host} lässt diesen Computer nicht lesen ({status}). Ein Passwort dafür bewahrt der Befehl potluck data login auf.</translation>
  </message>
  <message>
   <source>Data stalled: {name} could not be written ({why}). Check that the folder belongs to you and is not read-only.</source>
   <translation>Keine Daten: {name} konnte nicht geschrieben werden ({why}). Bitte prüfen, ob der Ordner dem eigenen Benutzerkonto gehört und beschreibbar ist.</translation>
  </message>
  <message>
   <source>Data stalled: {name} has no column {column}. The organiser can mend that.</source>
   <translation>Keine Daten: {name} hat keine Spalte {column}. Das kann die Organisation in Ordnung bringen.</translation>
  </message>
  <message>
   <source>Data stalled: {name} holds something else than text. The organiser can mend that.</source>
   <translation>Keine Daten: {name} enthält etwas anderes als Text. Das kann die Organisation in Ordnung bringen.</translation>
  </message>
  <message>
   <source>Data stalled: {name} is damaged. The organiser can mend that.</source>
   <translation>Keine Daten: {name} ist beschädigt. Das kann die Organisation in Ordnung bringen.</translation>
  </message>
  <message>
   <source>Data stalled: {name} is not there any more. The organiser can mend that.</source>
   <translation>Keine Daten: {name} ist nicht mehr da. Das kann die Organisation in Ordnung bringen.</translation>
  </message>
  <message>
   <source>Data stalled: {name} is not what the organiser has signed. It is asked for again.</source>
   <translation>Keine Daten: {name} ist nicht, was die Organisation unterschrieben hat. Es wird noch einmal danach gefragt.</translation>
  </message>
  <message>
   <source>Data wait: your rules forbid the network now.</source>
   <translation>Die Daten warten: Ihre Regeln erlauben das Netz jetzt nicht.</translation>
  </message>
  <message>
   <source>Data wait: {name} has changed while it was read. It is read again from its start.</source>
   <translation>Die Daten warten: {name} wurde geändert, während es gelesen wurde. Es wird von vorn gelesen.</translation>
  </message>
  <message>
   <source>Day</source>
   <translation>Tag</translation>
  </message>
  <message>
   <source>Did not arrive in time</source>
   <translation>Kam nicht rechtzeitig an</translation>
  </message>
  <message>
   <source>Digest of its numbers</source>
   <translation>Prüfsumme seiner Zahlen</translation>
  </message>
  <message>
   <source>Disk</source>
   <translation>Festplatte</translation>
  </message>
  <message>
   <source>Disk f&amp;or data</source>
   <translation>Platz a&amp;uf der Platte</translation>
  </message>
  <message>
   <source>Do you want to take part?</source>
   <translation>Mitmachen?</translation>
  </message>
  <message>
   <source>Doing</source>
   <translation>Tätigkeit</translation>
  </message>
  <message>
   <source>Download</source>
   <translation>Herunterladen</translation>
  </message>
  <message>
   <source>Each round leaves a receipt.</source>
   <translation>Jede Runde hinterlässt eine Quittung.</translation>
  </message>
  <message>
   <source>Electricity</source>
   <translation>Strom</translation>
  </message>
  <message>
   <source>End it with the system's task manager, or log out.</source>
   <translation>Mit der Aufgabenverwaltung des Systems beenden, oder abmelden.</translation>
  </message>
  <message>
   <source>End programs that you do not need.</source>
   <translation>Programme beenden, die nicht gebraucht werden.</translation>
  </message>
  <message>
   <source>End that program, or choose another port: potluck settings port NUMBER</source>
   <translation>Bitte das Programm beenden oder einen anderen Port wählen: potluck settings port NUMMER</translation>
  </message>
  <message>
   <source>Epoch {epoch}</source>
   <translation>Epoche {epoch}</translation>
  </message>
  <message>
   <source>Epoch {epoch} counted {weight} of this computer's {samples} samples: a computer that is new, or much faster than before, counts for more with each epoch, up to its share.</source>
   <translation>In Epoche {epoch} zählten {weight} der {samples} Beispiele dieses Rechners: Ein Rechner, der neu oder viel schneller als zuvor ist, zählt mit jeder Epoche mehr, bis zu seinem Anteil.</translation>
  </message>
  <message>
   <source>Epoch {epoch}, signed by {signed} of {members}.</source>
   <translation>Epoche {epoch}, unterschrieben von {signed} der {members} Mitglieder.</translation>
  </message>
  <message>
   <source>Epoch {epoch}: contributions that arrived only in part: {missing}.</source>
   <translation>Epoche {epoch}: Beiträge, die nur teilweise ankamen: {missing}.</translation>
  </message>
  <message>
   <source>Errors on text that it has never seen</source>
   <translation>Fehler bei unbekanntem Text</translation>
  </message>
  <message>
   <source>Errors on text that it learns from</source>
   <translation>Fehler beim Lerntext</translation>
  </message>
  <message>
   <source>Everybody brings a little computing; together it trains one model. Potluck is free software under the Apache License 2.0, without any warranty.</source>
   <translation>Alle bringen ein wenig Rechenzeit mit; zusammen trainiert das ein Modell. Potluck ist freie Software unter der Apache-Lizenz 2.0, ohne jede Gewährleistung.</translation>
  </message>
  <message>
   <source>Everything</source>
   <translation>Alles</translation>
  </message>
  <message>
   <source>Fingerprint</source>
   <translation>Fingerabdruck</translation>
  </message>
  <message>
   <source>Fingerprint of its key</source>
   <translation>Fingerabdruck seines Schlüssels</translation>
  </message>
  <message>
   <source>Fingerprint of that key</source>
   <translation>Fingerabdruck dieses Schlüssels</translation>
  </message>
  <message>
   <source>Finished</source>
   <translation>Fertig</translation>
  </message>
  <message>
   <source>Finished: epoch {epoch} was the last that was asked for.</source>
   <translation>Fertig: Epoche {epoch} war die letzte, die verlangt war.</translation>
  </message>
  <message>
   <source>Finished: that was the last step that was asked for.</source>
   <translation>Fertig: Das war der letzte Schritt, der verlangt war.</translation>
  </message>
  <message>
   <source>Finished: the model has reached the end of its schedule. Nothing is computed.</source>
   <translation>Fertig: Das Modell hat das Ende seines Plans erreicht. Es wird nichts gerechnet.</translation>
  </message>
  <message>
   <source>Finished: with epoch {epoch} the collaboration has reached the end of its schedule. Nothing is computed.</source>
   <translation>Fertig: Mit Epoche {epoch} hat das Projekt das Ende seines Plans erreicht. Es wird nichts gerechnet.</translation>
  </message>
  <message>
   <source>For a computer that starts without anybody, keep the key in a file: potluck startup engine --key-in-file</source>
   <translation>Für einen Rechner, der ohne Anmeldung startet, den Schlüssel in einer Datei halten: potluck startup engine --key-in-file</translation>
  </message>
  <message>
   <source>For a whole day write 00:00-24:00.</source>
   <translation>Ein ganzer Tag ist 00:00-24:00.</translation>
  </message>
  <message>
   <source>For {seconds} s the computers have not managed to put their work together ({times} attempts). They go on trying.</source>
   <translation>Seit {seconds} s ist es den Computern nicht gelungen, ihre Arbeit zusammenzufügen ({times} Versuche). Sie versuchen es weiter.</translation>
  </message>
  <message>
   <source>Free some space: {0} GB are needed.</source>
   <translation>Bitte Platz schaffen: {0} GB werden gebraucht.</translation>
  </message>
  <message>
   <source>Friday</source>
   <translation>Freitag</translation>
  </message>
  <message>
   <source>From {0} to {1} is zero minutes.</source>
   <translation>Von {0} bis {1} vergeht keine Zeit.</translation>
  </message>
  <message>
   <source>GB</source>
   <translation>GB</translation>
  </message>
  <message>
   <source>Getting everything ready…</source>
   <translation>Alles wird vorbereitet…</translation>
  </message>
  <message>
   <source>Getting started</source>
   <translation>Der Start</translation>
  </message>
  <message>
   <source>Give a name of the leaderboard, or a key.</source>
   <translation>Nennen Sie einen Namen aus der Rangliste oder einen Schlüssel.</translation>
  </message>
  <message>
   <source>Graphics card</source>
   <translation>Grafikkarte</translation>
  </message>
  <message>
   <source>Half of what is free</source>
   <translation>Hälfte des freien</translation>
  </message>
  <message>
   <source>Held-out loss</source>
   <translation>Verlust am Prüftext</translation>
  </message>
  <message>
   <source>Held-out loss at epoch {epoch}: {loss}.</source>
   <translation>Verlust am Prüftext in Epoche {epoch}: {loss}.</translation>
  </message>
  <message>
   <source>Helped to average</source>
   <translation>Mitgeholfen</translation>
  </message>
  <message>
   <source>Helper</source>
   <translation>Hilft</translation>
  </message>
  <message>
   <source>Helping</source>
   <translation>Hilft</translation>
  </message>
  <message>
   <source>Helping: this computer averages what the others have trained, and trains nothing itself.</source>
   <translation>Hilft: Dieser Rechner mittelt, was die anderen trainiert haben, und trainiert selbst nichts.</translation>
  </message>
  <message>
   <source>Helps to average: this line is too slow for its own gradients.</source>
   <translation>Hilft beim Mitteln: Diese Leitung ist zu langsam für eigene Gradienten.</translation>
  </message>
  <message>
   <source>Hours</source>
   <translation>Zeiten</translation>
  </message>
  <message>
   <source>Hours of the week</source>
   <translation>Stunden der Woche</translation>
  </message>
  <message>
   <source>How others can reach this computer is not known yet.</source>
   <translation>Wie andere diesen Rechner erreichen, ist noch nicht bekannt.</translation>
  </message>
  <message>
   <source>How others reach it</source>
   <translation>Wie andere ihn erreichen</translation>
  </message>
  <message>
   <source>How the others see &amp;you</source>
   <translation>So &amp;heißt dieser Rechner bei den anderen</translation>
  </message>
  <message>
   <source>In a &amp;month</source>
   <translation>Im &amp;Monat</translation>
  </message>
  <message>
   <source>In all</source>
   <translation>Insgesamt</translation>
  </message>
  <message>
   <source>In epoch {epoch} this computer's gradients were far larger than those of the others, and were scaled down. If it goes on, restart Potluck, and check this computer's memory and graphics card.</source>
   <translation>In Epoche {epoch} waren die Gradienten dieses Rechners weit größer als die der anderen und wurden verkleinert. Falls das anhält, Potluck neu starten und Arbeitsspeicher und Grafikkarte prüfen.</translation>
  </message>
  <message>
   <source>In order</source>
   <translation>In Ordnung</translation>
  </message>
  <message>
   <source>In the model: {samples} samples of {epochs} rounds, in {duration} of contributing</source>
   <translation>Im Modell: {samples} Beispiele aus {epochs} Runden, in {duration} Rechenzeit</translation>
  </message>
  <message>
   <source>In this collaboration this computer is called {name}.</source>
   <translation>In diesem Projekt heißt dieser Rechner {name}.</translation>
  </message>
  <message>
   <source>Is everything here that Potluck needs?</source>
   <translation>Ist alles da, was Potluck braucht?</translation>
  </message>
  <message>
   <source>It arrived too late or not at all: the round went on without it. The connection may be slow.</source>
   <translation>Es kam zu spät oder gar nicht an: Die Runde ging ohne weiter. Vielleicht ist die Verbindung langsam.</translation>
  </message>
  <message>
   <source>It begins with the first step.</source>
   <translation>Sie beginnt mit dem ersten Schritt.</translation>
  </message>
  <message>
   <source>It can come in again by a new link, with another home (--home).</source>
   <translation>Er kann mit einem neuen Link und einem anderen Ordner (--home) wieder hereinkommen.</translation>
  </message>
  <message>
   <source>It computes</source>
   <translation>Er rechnet</translation>
  </message>
  <message>
   <source>It does not cost by the megabyte.</source>
   <translation>Sie kostet nicht nach Datenmenge.</translation>
  </message>
  <message>
   <source>It fills with the first step of the model.</source>
   <translation>Sie füllt sich mit dem ersten Schritt des Modells.</translation>
  </message>
  <message>
   <source>It fills {right} {guesses} right, in text that it has never seen.</source>
   <translation>Es errät {right} {guesses} richtig, in Text, den es nie gesehen hat.</translation>
  </message>
  <message>
   <source>It is damaged.</source>
   <translation>Er ist beschädigt.</translation>
  </message>
  <message>
   <source>It is made with other free software: {libraries}.</source>
   <translation>Darin steckt andere freie Software: {libraries}.</translation>
  </message>
  <message>
   <source>It is measured every few steps.</source>
   <translation>Er wird alle paar Schritte gemessen.</translation>
  </message>
  <message>
   <source>It is not known any more which data were read, so reading begins anew. The damaged file was kept as {name}.</source>
   <translation>Es ist nicht mehr bekannt, welche Daten gelesen wurden, darum beginnt das Lesen von vorn. Die beschädigte Datei wurde als {name} aufgehoben.</translation>
  </message>
  <message>
   <source>It is of another collaboration, or of another key.</source>
   <translation>Das gehört zu einem anderen Projekt oder einem anderen Schlüssel.</translation>
  </message>
  <message>
   <source>It is started again.</source>
   <translation>Es wird neu gestartet.</translation>
  </message>
  <message>
   <source>It is started again; the log says more.</source>
   <translation>Es wird neu gestartet; im Protokoll steht mehr.</translation>
  </message>
  <message>
   <source>It runs on its battery.</source>
   <translation>Er läuft mit Akku.</translation>
  </message>
  <message>
   <source>It runs on mains.</source>
   <translation>Er läuft mit Netzteil.</translation>
  </message>
  <message>
   <source>It runs, but does not let this program in: engine.json has changed. Whether it computes is not known.</source>
   <translation>Es läuft, lässt dieses Programm aber nicht herein: engine.json hat sich geändert. Ob es rechnet, ist nicht bekannt.</translation>
  </message>
  <message>
   <source>It runs, but says nothing: whether it computes is not known.</source>
   <translation>Es läuft, sagt aber nichts: Ob es rechnet, ist nicht bekannt.</translation>
  </message>
  <message>
   <source>It takes</source>
   <translation>Es nimmt</translation>
  </message>
  <message>
   <source>It takes volunteers outside of this network to find out.</source>
   <translation>Das lässt sich erst mit Mitwirkenden außerhalb dieses Netzwerks herausfinden.</translation>
  </message>
  <message>
   <source>It was averaged, but nobody else has signed that, which proves nothing to others.</source>
   <translation>Es wurde gemittelt, aber niemand sonst hat das unterschrieben, und das beweist anderen nichts.</translation>
  </message>
  <message>
   <source>It was kept as {0}. Start Potluck again to begin a new collaboration.</source>
   <translation>Es wurde als {0} aufgehoben. Ein neuer Start von Potluck beginnt ein neues Projekt.</translation>
  </message>
  <message>
   <source>It works well as it is. With UPnP in the router, connections would start a little faster.</source>
   <translation>So funktioniert es gut. Mit UPnP im Router kämen Verbindungen etwas schneller zustande.</translation>
  </message>
  <message>
   <source>Its icon beside the clock brings the window back.</source>
   <translation>Das Symbol neben der Uhr holt das Fenster zurück.</translation>
  </message>
  <message>
   <source>Its learning rate may be too high.</source>
   <translation>Vielleicht ist die Lernrate zu hoch.</translation>
  </message>
  <message>
   <source>Its link is forgotten then, its files stay.</source>
   <translation>Der Link wird dann vergessen, die Dateien bleiben.</translation>
  </message>
  <message>
   <source>Join a collaboration</source>
   <translation>Einem Projekt beitreten</translation>
  </message>
  <message>
   <source>Join again with the organiser's link.</source>
   <translation>Mit dem Link der Leitung neu beitreten.</translation>
  </message>
  <message>
   <source>Join one with: potluck join LINK</source>
   <translation>Beitreten mit: potluck join LINK</translation>
  </message>
  <message>
   <source>Join the collaboration again.</source>
   <translation>Bitte dem Projekt noch einmal beitreten.</translation>
  </message>
  <message>
   <source>Joined before</source>
   <translation>Früher beigetreten</translation>
  </message>
  <message>
   <source>Joining</source>
   <translation>Tritt bei</translation>
  </message>
  <message>
   <source>Joining the collaboration.</source>
   <translation>Tritt dem Projekt bei.</translation>
  </message>
  <message>
   <source>Joining…</source>
   <translation>Beitritt läuft…</translation>
  </message>
  <message>
   <source>Known after the start only: {unknown}.</source>
   <translation>Erst nach dem Start bekannt: {unknown}.</translation>
  </message>
  <message>
   <source>Known after the start; nothing has to be set up for that.</source>
   <translation>Nach dem Start bekannt; einzurichten ist dafür nichts.</translation>
  </message>
  <message>
   <source>La&amp;nguage</source>
   <translation>S&amp;prache</translation>
  </message>
  <message>
   <source>Large models need more; POTLUCK_HOME can name a folder on another disk.</source>
   <translation>Große Modelle brauchen mehr; POTLUCK_HOME kann einen Ordner auf einer anderen Festplatte nennen.</translation>
  </message>
  <message>
   <source>Layers are compiled only where a single device trains.</source>
   <translation>Schichten werden nur übersetzt, wo ein einziges Gerät trainiert.</translation>
  </message>
  <message>
   <source>Lea&amp;ve it</source>
   <translation>&amp;Verlassen</translation>
  </message>
  <message>
   <source>Leaderboard</source>
   <translation>Rangliste</translation>
  </message>
  <message>
   <source>Leave --device out.</source>
   <translation>--device weglassen.</translation>
  </message>
  <message>
   <source>Leave at least one hour, or pause Potluck with its switch.</source>
   <translation>Mindestens eine Stunde übrig lassen oder Potluck mit dem Schalter anhalten.</translation>
  </message>
  <message>
   <source>Leave it</source>
   <translation>Verlassen</translation>
  </message>
  <message>
   <source>Leave this collaboration?</source>
   <translation>Dieses Projekt verlassen?</translation>
  </message>
  <message>
   <source>Leave {collaboration}?</source>
   <translation>{collaboration} verlassen?</translation>
  </message>
  <message>
   <source>Left out of the data for now: {name}, for which the server gave something else.</source>
   <translation>Vorerst nicht in den Daten: {name}; der Server gab stattdessen etwas anderes.</translation>
  </message>
  <message>
   <source>Left out of the data for now: {name}, which could not be read to its end.</source>
   <translation>Vorerst ausgelassen: {name}, das nicht bis zum Ende gelesen werden konnte.</translation>
  </message>
  <message>
   <source>Left out of the data: the files from {name} on, since there are too many.</source>
   <translation>Ausgelassen: die Dateien ab {name}, denn es sind zu viele.</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, a link that leads in a circle, to a folder or out of this one.</source>
   <translation>Nicht in den Daten: {name} ist eine Verknüpfung, die im Kreis, zu einem Ordner oder aus diesem hinaus führt.</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which has changed since it was listed.</source>
   <translation>Nicht in den Daten: {name} wurde geändert, seit es aufgelistet wurde.</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which has no column of the name that is read.</source>
   <translation>Nicht in den Daten: {name} hat keine Spalte mit dem Namen, der gelesen wird.</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which holds something else than text.</source>
   <translation>Nicht in den Daten: {name} enthält etwas anderes als Text.</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which is damaged.</source>
   <translation>Nicht in den Daten: {name} ist beschädigt.</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which is not there any more.</source>
   <translation>Ausgelassen: {name}, das nicht mehr da ist.</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which is not what the organiser has signed.</source>
   <translation>Ausgelassen: {name}, das nicht ist, was die Organisation unterschrieben hat.</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which this computer may not read.</source>
   <translation>Ausgelassen: {name}, das dieser Computer nicht lesen darf.</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which unfolds to more memory than any text needs.</source>
   <translation>Nicht in den Daten: {name} braucht entpackt mehr Speicher als irgendein Text.</translation>
  </message>
  <message>
   <source>Left out of the data: {name}.</source>
   <translation>Von den Daten ausgelassen: {name}.</translation>
  </message>
  <message>
   <source>Let Potluck train until an epoch has ended, then try again.</source>
   <translation>Potluck trainieren lassen, bis eine Epoche zu Ende ist, dann noch einmal versuchen.</translation>
  </message>
  <message>
   <source>Let {0} through at the same port: in the router's rule, or in the firewall of this computer.</source>
   <translation>Bitte {0} am selben Port durchlassen: in der Regel des Routers oder in der Firewall dieses Rechners.</translation>
  </message>
  <message>
   <source>Licence and credit</source>
   <translation>Lizenz und Urheber</translation>
  </message>
  <message>
   <source>Like the &amp;system</source>
   <translation>Wie das &amp;System</translation>
  </message>
  <message>
   <source>Link</source>
   <translation>Link</translation>
  </message>
  <message>
   <source>Look at the &amp;held-out text now</source>
   <translation>Jetzt am Prüf&amp;text messen</translation>
  </message>
  <message>
   <source>Look into this computer, run programs on it, or have it do more than you allow: your hours and limits are kept by this program alone.</source>
   <translation>In diesen Rechner hineinsehen, Programme darauf ausführen oder ihn mehr tun lassen als erlaubt: Über Zeiten und Grenzen wacht allein dieses Programm.</translation>
  </message>
  <message>
   <source>Looking for the others and for the newest state of the model.</source>
   <translation>Sucht die anderen und den neuesten Stand des Modells.</translation>
  </message>
  <message>
   <source>Looks at network, clock, disk, devices and more. It takes some seconds.</source>
   <translation>Prüft Netzwerk, Uhr, Festplatte, Geräte und mehr. Das dauert einige Sekunden.</translation>
  </message>
  <message>
   <source>May Potluck use this computer?</source>
   <translation>Darf Potluck diesen Rechner nutzen?</translation>
  </message>
  <message>
   <source>Mbit/s</source>
   <translation>Mbit/s</translation>
  </message>
  <message>
   <source>Memory</source>
   <translation>Speicher</translation>
  </message>
  <message>
   <source>Memory is kept &amp;for</source>
   <translation>Speicher bleibt belegt &amp;für</translation>
  </message>
  <message>
   <source>Model</source>
   <translation>Modell</translation>
  </message>
  <message>
   <source>Monday</source>
   <translation>Montag</translation>
  </message>
  <message>
   <source>Move those away; or move {0} and the shards away, so that the others are cut.</source>
   <translation>Diese woanders hinlegen; oder {0} und die Stücke woanders hinlegen, damit die anderen zerlegt werden.</translation>
  </message>
  <message>
   <source>My &amp;computer</source>
   <translation>Mein &amp;Rechner</translation>
  </message>
  <message>
   <source>My &amp;gift</source>
   <translation>Mein &amp;Beitrag</translation>
  </message>
  <message>
   <source>My computer</source>
   <translation>Mein Rechner</translation>
  </message>
  <message>
   <source>My gift</source>
   <translation>Mein Beitrag</translation>
  </message>
  <message>
   <source>N&amp;etwork</source>
   <translation>Net&amp;zwerk</translation>
  </message>
  <message>
   <source>Name</source>
   <translation>Name</translation>
  </message>
  <message>
   <source>Name at most {0} programs.</source>
   <translation>Bitte höchstens {0} Programme nennen.</translation>
  </message>
  <message>
   <source>Name each device once.</source>
   <translation>Jedes Gerät einmal nennen.</translation>
  </message>
  <message>
   <source>Name fewer with --host.</source>
   <translation>Weniger davon mit --host nennen.</translation>
  </message>
  <message>
   <source>Name it as the system's list of running programs does, without a folder: blender, steam.</source>
   <translation>So nennen, wie es in der Liste der laufenden Programme steht, ohne Ordner: blender, steam.</translation>
  </message>
  <message>
   <source>Name one by how its id begins, such as {0}.</source>
   <translation>Bitte eines mit dem Anfang seiner Kennung nennen, etwa {0}.</translation>
  </message>
  <message>
   <source>Networ&amp;k</source>
   <translation>&amp;Netzwerk</translation>
  </message>
  <message>
   <source>Network</source>
   <translation>Netzwerk</translation>
  </message>
  <message>
   <source>Never</source>
   <translation>Nie</translation>
  </message>
  <message>
   <source>Next try in {seconds} s.</source>
   <translation>Nächster Versuch in {seconds} s.</translation>
  </message>
  <message>
   <source>No backbone answers at {0}.</source>
   <translation>Unter {0} antwortet kein Backbone.</translation>
  </message>
  <message>
   <source>No backbone answers at {where}. This computer takes part by the pass that it has, which holds until {until}, and asks on.</source>
   <translation>Kein Backbone antwortet bei {where}. Dieser Rechner macht mit dem Ausweis mit, den er hat und der bis {until} gilt, und fragt weiter.</translation>
  </message>
  <message>
   <source>No backbone or volunteer that is here has the text. They are asked again in {seconds} s.</source>
   <translation>Kein Backbone und niemand, der gerade da ist, hat den Text. In {seconds} s wird wieder gefragt.</translation>
  </message>
  <message>
   <source>No collaboration is left: nothing computes for others here until you join one.</source>
   <translation>Kein Projekt ist übrig: Bis zum nächsten Beitritt wird hier nichts für andere gerechnet.</translation>
  </message>
  <message>
   <source>No computer is called {where}, as the link says. It is looked for again and again.</source>
   <translation>Kein Rechner heißt {where}, wie es im Link steht. Er wird immer wieder gesucht.</translation>
  </message>
  <message>
   <source>No connection is that fast.</source>
   <translation>So schnell ist keine Verbindung.</translation>
  </message>
  <message>
   <source>No contribution in the last {days} days yet.</source>
   <translation>In den letzten {days} Tagen noch nicht mitgerechnet.</translation>
  </message>
  <message>
   <source>No day and no time is named.</source>
   <translation>Es ist weder ein Tag noch eine Zeit genannt.</translation>
  </message>
  <message>
   <source>No free port was found.</source>
   <translation>Es wurde kein freier Port gefunden.</translation>
  </message>
  <message>
   <source>No limit</source>
   <translation>Keine Grenze</translation>
  </message>
  <message>
   <source>No link?</source>
   <translation>Kein Link?</translation>
  </message>
  <message>
   <source>No port for peers is chosen yet; the first start draws one and keeps it.</source>
   <translation>Noch ist kein Port für die anderen gewählt; der erste Start bestimmt einen und behält ihn.</translation>
  </message>
  <message>
   <source>No program fills the screen.</source>
   <translation>Kein Programm füllt den Bildschirm.</translation>
  </message>
  <message>
   <source>No program of this computer may open any more files.</source>
   <translation>Kein Programm dieses Rechners darf noch mehr Dateien öffnen.</translation>
  </message>
  <message>
   <source>No router is in the way, so a firewall is: allow Potluck in the firewall of this computer.</source>
   <translation>Kein Router ist im Weg, also ist es eine Firewall: Potluck in der Firewall dieses Rechners erlauben.</translation>
  </message>
  <message>
   <source>No training process runs.</source>
   <translation>Es läuft kein Trainingsprozess.</translation>
  </message>
  <message>
   <source>Nobody has called port {0} yet: it takes two others who can be called themselves.</source>
   <translation>Port {0} hat noch niemand angerufen: Dazu braucht es zwei andere, die selbst erreichbar sind.</translation>
  </message>
  <message>
   <source>Nobody has touched this computer for {0} s.</source>
   <translation>Diesen Rechner hat seit {0} s niemand berührt.</translation>
  </message>
  <message>
   <source>Nobody here is called {0}.</source>
   <translation>Niemand heißt hier {0}.</translation>
  </message>
  <message>
   <source>Nobody new is let in at present.</source>
   <translation>Zurzeit kommt niemand neu herein.</translation>
  </message>
  <message>
   <source>Nobody uses it from afar.</source>
   <translation>Niemand nutzt ihn aus der Ferne.</translation>
  </message>
  <message>
   <source>Nobody uses that much in a month.</source>
   <translation>So viel verbraucht niemand im Monat.</translation>
  </message>
  <message>
   <source>Nobody yet.</source>
   <translation>Noch niemand.</translation>
  </message>
  <message>
   <source>None is needed: the link lets you in.</source>
   <translation>Keines nötig: Der Link gewährt den Zutritt.</translation>
  </message>
  <message>
   <source>None is read now.</source>
   <translation>Jetzt wird keiner gelesen.</translation>
  </message>
  <message>
   <source>Not all of Potluck could be ended.</source>
   <translation>Nicht alles von Potluck ließ sich beenden.</translation>
  </message>
  <message>
   <source>Not at all</source>
   <translation>Gar nicht</translation>
  </message>
  <message>
   <source>Not connected</source>
   <translation>Nicht verbunden</translation>
  </message>
  <message>
   <source>Not connected: this is what was known at {moment}.</source>
   <translation>Nicht verbunden: Das ist der Stand von {moment}.</translation>
  </message>
  <message>
   <source>Not known before the start; {have}</source>
   <translation>Vor dem Start nicht bekannt; {have}</translation>
  </message>
  <message>
   <source>Not told</source>
   <translation>Keine Angabe</translation>
  </message>
  <message>
   <source>Not yet: start pa&amp;used</source>
   <translation>Noch nicht: angehalten s&amp;tarten</translation>
  </message>
  <message>
   <source>Note</source>
   <translation>Hinweis</translation>
  </message>
  <message>
   <source>Nothing has changed.</source>
   <translation>Es hat sich nichts geändert.</translation>
  </message>
  <message>
   <source>Nothing has changed: you have signed that, or something else was decided meanwhile.</source>
   <translation>Nichts hat sich geändert: Das haben Sie schon unterschrieben, oder inzwischen wurde etwas anderes entschieden.</translation>
  </message>
  <message>
   <source>Nothing has to be done: the key is then kept in a file that only you can read.</source>
   <translation>Es ist nichts zu tun: Der Schlüssel liegt dann in einer Datei, die nur das eigene Benutzerkonto lesen kann.</translation>
  </message>
  <message>
   <source>Nothing of Potluck</source>
   <translation>Nichts von Potluck</translation>
  </message>
  <message>
   <source>Nothing of this kind.</source>
   <translation>Nichts dergleichen.</translation>
  </message>
  <message>
   <source>Nothing was given yet.</source>
   <translation>Noch nichts beigetragen.</translation>
  </message>
  <message>
   <source>Nothing was lost. Free some space where {0} lies; if Potluck has ended, start it again.</source>
   <translation>Nichts ging verloren. Platz schaffen, wo {0} liegt; falls Potluck beendet ist, neu starten.</translation>
  </message>
  <message>
   <source>Nothing went into a step of the model yet today.</source>
   <translation>Heute ging noch nichts in einen Schritt des Modells ein.</translation>
  </message>
  <message>
   <source>Notifica&amp;tions of the desktop</source>
   <translation>Benachrichti&amp;gungen</translation>
  </message>
  <message>
   <source>Numbers that say how the model should change, never text or files of yours. With them go your name here, a key that stands for this computer, its address in the network, how fast it computes, and what it is doing. Every connection is encrypted, and both sides prove who they are.</source>
   <translation>Zahlen, die sagen, wie sich das Modell ändern soll, niemals eigene Texte oder Dateien. Mit ihnen gehen der hier gewählte Name, ein Schlüssel, der für diesen Rechner steht, seine Adresse im Netzwerk, wie schnell er rechnet und was er gerade tut. Jede Verbindung ist verschlüsselt, und beide Seiten weisen sich aus.</translation>
  </message>
  <message>
   <source>O&amp;nly these</source>
   <translation>Nur &amp;diese</translation>
  </message>
  <message>
   <source>Off until {moment}</source>
   <translation>Aus bis {moment}</translation>
  </message>
  <message>
   <source>On macOS, links open Potluck as long as it is in the Applications folder.</source>
   <translation>Unter macOS öffnen Links Potluck, solange das Programm im Ordner „Programme“ liegt.</translation>
  </message>
  <message>
   <source>On macOS, links open Potluck once it is in the Applications folder.</source>
   <translation>Unter macOS öffnen Links Potluck, sobald das Programm im Ordner „Programme“ liegt.</translation>
  </message>
  <message>
   <source>On this computer</source>
   <translation>Auf diesem Rechner</translation>
  </message>
  <message>
   <source>On until {moment}, whatever the rules say</source>
   <translation>An bis {moment}, was auch immer die Regeln sagen</translation>
  </message>
  <message>
   <source>Only in these &amp;hours:</source>
   <translation>Nur zu diesen Z&amp;eiten:</translation>
  </message>
  <message>
   <source>Only the organiser can let it in again.</source>
   <translation>Nur die Leitung kann ihn wieder zulassen.</translation>
  </message>
  <message>
   <source>Only while &amp;nobody uses it</source>
   <translation>Nur wenn ihn &amp;niemand benutzt</translation>
  </message>
  <message>
   <source>Organised by</source>
   <translation>Leitung</translation>
  </message>
  <message>
   <source>Other programs take more than {percent} % of the graphics card. Potluck continues when they need less.</source>
   <translation>Andere Programme belegen mehr als {percent} % der Grafikkarte. Potluck macht weiter, wenn sie weniger brauchen.</translation>
  </message>
  <message>
   <source>Other programs take more than {percent} % of the processor. Potluck continues when they need less.</source>
   <translation>Andere Programme belegen mehr als {percent} % des Prozessors. Potluck macht weiter, wenn sie weniger brauchen.</translation>
  </message>
  <message>
   <source>Other reasons to rest</source>
   <translation>Andere Gründe zu ruhen</translation>
  </message>
  <message>
   <source>Other volunteers are heard at port {0} now; {1}.</source>
   <translation>Andere werden jetzt an Port {0} gehört; {1}.</translation>
  </message>
  <message>
   <source>Other volunteers can reach this computer directly.</source>
   <translation>Die anderen Mitwirkenden erreichen diesen Rechner direkt.</translation>
  </message>
  <message>
   <source>Others are asked to call this computer. This takes some seconds…</source>
   <translation>Andere werden gebeten, diesen Rechner anzurufen. Das dauert einige Sekunden…</translation>
  </message>
  <message>
   <source>Others {0} port {1} of this computer and got through over TCP, but not over UDP.</source>
   <translation>Andere {0} Port {1} dieses Rechners angerufen und kamen über TCP durch, aber nicht über UDP.</translation>
  </message>
  <message>
   <source>Others {0} port {1} of this computer and got through over UDP, but not over TCP.</source>
   <translation>Andere {0} Port {1} dieses Rechners angerufen und kamen über UDP durch, aber nicht über TCP.</translation>
  </message>
  <message>
   <source>Others {0} port {1} of this computer and got through, over TCP and UDP.</source>
   <translation>Andere {0} Port {1} dieses Rechners angerufen und kamen durch, über TCP und UDP.</translation>
  </message>
  <message>
   <source>Otherwise Potluck rests while the system calls the connection metered.</source>
   <translation>Sonst ruht Potluck, solange das System die Verbindung getaktet nennt.</translation>
  </message>
  <message>
   <source>Otherwise it computes on, and other programs go first.</source>
   <translation>Sonst rechnet er weiter, und andere Programme haben Vorrang.</translation>
  </message>
  <message>
   <source>Pages</source>
   <translation>Seiten</translation>
  </message>
  <message>
   <source>Passed on {size} for computers that cannot be called.</source>
   <translation>Hat {size} für Rechner weitergeleitet, die sich nicht anrufen lassen.</translation>
  </message>
  <message>
   <source>Paste the link that the organiser gave you, or click it where it was sent to you.</source>
   <translation>Den Link der Leitung hier einfügen oder ihn dort anklicken, wo er ankam.</translation>
  </message>
  <message>
   <source>Pause &amp;for</source>
   <translation>Anhalten &amp;für</translation>
  </message>
  <message>
   <source>Pause (Space)</source>
   <translation>Anhalten (Leertaste)</translation>
  </message>
  <message>
   <source>Paused</source>
   <translation>Angehalten</translation>
  </message>
  <message>
   <source>Paused by you: nothing is computed until you switch contributing on again.</source>
   <translation>Von Hand angehalten: Es wird nichts gerechnet, bis das Mitrechnen wieder eingeschaltet wird.</translation>
  </message>
  <message>
   <source>Paused by you: nothing is computed. Potluck continues {moment}.</source>
   <translation>Von Hand angehalten: Es wird nichts gerechnet. Potluck macht {moment} weiter.</translation>
  </message>
  <message>
   <source>Pausing…</source>
   <translation>Wird angehalten…</translation>
  </message>
  <message>
   <source>People</source>
   <translation>Mitwirkende</translation>
  </message>
  <message>
   <source>People bring a little of their computers' time, and train one model together.</source>
   <translation>Viele geben etwas Zeit ihrer Rechner und trainieren gemeinsam ein Modell.</translation>
  </message>
  <message>
   <source>People whom the organiser has let in: each computer has a pass that the organiser's key has signed and that ends by itself. All members check each other's passes, what each of them gave is signed by the others, and a computer whose pass is withdrawn is refused by everybody within a minute.</source>
   <translation>Menschen, die die Leitung eingelassen hat: Jeder Rechner hat einen Ausweis, den der Schlüssel der Leitung unterschrieben hat und der von selbst abläuft. Alle prüfen die Ausweise der anderen; was ein Rechner beiträgt, unterschreiben die anderen; und wessen Ausweis entzogen wird, den weisen alle binnen einer Minute ab.</translation>
  </message>
  <message>
   <source>Plug in its cable, or connect it to Wi-Fi: Potluck goes on by itself.</source>
   <translation>Kabel einstecken oder mit dem WLAN verbinden: Potluck macht dann von selbst weiter.</translation>
  </message>
  <message>
   <source>Port {0} ({1}), at which other computers call, {2}.</source>
   <translation>Port {0} ({1}), an dem andere Rechner anrufen, {2}.</translation>
  </message>
  <message>
   <source>Port {0} cannot be used: {1}.</source>
   <translation>Port {0} ist nicht nutzbar: {1}.</translation>
  </message>
  <message>
   <source>Port {0} is free for TCP and UDP.</source>
   <translation>Port {0} ist frei für TCP und UDP.</translation>
  </message>
  <message>
   <source>Port {0} is used by another program.</source>
   <translation>Port {0} wird von einem anderen Programm benutzt.</translation>
  </message>
  <message>
   <source>Potluck at home</source>
   <translation>Potluck zu Hause</translation>
  </message>
  <message>
   <source>Potluck can work here: {all} checks, no problem.</source>
   <translation>Potluck kann hier arbeiten: {all} Prüfungen, kein Problem.</translation>
  </message>
  <message>
   <source>Potluck does not answer</source>
   <translation>Potluck antwortet nicht</translation>
  </message>
  <message>
   <source>Potluck ended unexpectedly: nothing is computed.</source>
   <translation>Potluck wurde unerwartet beendet: Es wird nichts gerechnet.</translation>
  </message>
  <message>
   <source>Potluck ended unexpectedly: nothing is computed. It is started again in {seconds} s.</source>
   <translation>Potluck wurde unerwartet beendet: Es wird nichts gerechnet. Neustart in {seconds} s.</translation>
  </message>
  <message>
   <source>Potluck ends.</source>
   <translation>Potluck endet.</translation>
  </message>
  <message>
   <source>Potluck goes on</source>
   <translation>Potluck läuft weiter</translation>
  </message>
  <message>
   <source>Potluck is not running here. This window waits for it to start.</source>
   <translation>Potluck läuft hier nicht. Dieses Fenster wartet auf den Start.</translation>
  </message>
  <message>
   <source>Potluck is not running: nothing is computed.</source>
   <translation>Potluck läuft nicht: Es wird nichts gerechnet.</translation>
  </message>
  <message>
   <source>Potluck is starting.</source>
   <translation>Potluck startet.</translation>
  </message>
  <message>
   <source>Potluck leaves it alone. To use it all the same: potluck settings metered yes</source>
   <translation>Potluck lässt sie in Ruhe. Sie dennoch zu nutzen: potluck settings metered yes</translation>
  </message>
  <message>
   <source>Potluck may not open any more files.</source>
   <translation>Potluck darf keine weiteren Dateien öffnen.</translation>
  </message>
  <message>
   <source>Potluck may not write to {0}.</source>
   <translation>Potluck darf nicht nach {0} schreiben.</translation>
  </message>
  <message>
   <source>Potluck may work</source>
   <translation>Potluck darf arbeiten</translation>
  </message>
  <message>
   <source>Potluck may work for a part of it</source>
   <translation>Potluck darf einen Teil davon arbeiten</translation>
  </message>
  <message>
   <source>Potluck refuses this program</source>
   <translation>Potluck weist dieses Programm ab</translation>
  </message>
  <message>
   <source>Potluck rests</source>
   <translation>Potluck ruht</translation>
  </message>
  <message>
   <source>Potluck rests while a program fills the screen.</source>
   <translation>Potluck ruht, solange ein Programm den Bildschirm füllt.</translation>
  </message>
  <message>
   <source>Potluck rests while {program} runs, as you chose.</source>
   <translation>Potluck ruht wie gewünscht, solange {program} läuft.</translation>
  </message>
  <message>
   <source>Potluck runs.</source>
   <translation>Potluck läuft.</translation>
  </message>
  <message>
   <source>Potluck starts.</source>
   <translation>Potluck startet.</translation>
  </message>
  <message>
   <source>Potluck uses it, as you chose. To leave it alone: potluck settings metered no</source>
   <translation>Potluck nutzt sie, wie gewählt. Sie in Ruhe zu lassen: potluck settings metered no</translation>
  </message>
  <message>
   <source>Potluck was asked to compute nothing, and has not confirmed it yet.</source>
   <translation>Potluck soll nichts mehr rechnen, hat das aber noch nicht bestätigt.</translation>
  </message>
  <message>
   <source>Potluck was asked to contribute, and has not confirmed it yet.</source>
   <translation>Potluck soll wieder mitrechnen, hat das aber noch nicht bestätigt.</translation>
  </message>
  <message>
   <source>Potluck was killed the last time, or the computer lost power.</source>
   <translation>Potluck wurde beim letzten Mal abgebrochen, oder der Strom fiel aus.</translation>
  </message>
  <message>
   <source>Potluck works in the hours that are filled, and rests in the others. Draw over them to change, or use the arrow keys and Space.</source>
   <translation>Potluck arbeitet in den gefüllten Stunden und ruht in den anderen. Zum Ändern darüberziehen oder Pfeiltasten und Leertaste benutzen.</translation>
  </message>
  <message>
   <source>Potluck {version}</source>
   <translation>Potluck {version}</translation>
  </message>
  <message>
   <source>Potluck's files</source>
   <translation>Dateien von Potluck</translation>
  </message>
  <message>
   <source>Pr&amp;ice</source>
   <translation>Pre&amp;is</translation>
  </message>
  <message>
   <source>Prepare the model and the text</source>
   <translation>Modell und Text vorbereiten</translation>
  </message>
  <message>
   <source>Problem</source>
   <translation>Problem</translation>
  </message>
  <message>
   <source>Problem: {message}</source>
   <translation>Problem: {message}</translation>
  </message>
  <message>
   <source>Processor</source>
   <translation>Prozessor</translation>
  </message>
  <message>
   <source>Putting everyone's work into the model, {company}.</source>
   <translation>Die Arbeit aller kommt ins Modell, {company}.</translation>
  </message>
  <message>
   <source>Quit in its menu ends everything.</source>
   <translation>„Potluck beenden“ in seinem Menü beendet alles.</translation>
  </message>
  <message>
   <source>Rank</source>
   <translation>Rang</translation>
  </message>
  <message>
   <source>Re&amp;start Potluck</source>
   <translation>Potluck neu &amp;starten</translation>
  </message>
  <message>
   <source>Reading text</source>
   <translation>Liest Text</translation>
  </message>
  <message>
   <source>Reading text and preparing what is to be learned.</source>
   <translation>Liest Text und bereitet vor, was gelernt werden soll.</translation>
  </message>
  <message>
   <source>Reading the model</source>
   <translation>Liest das Modell</translation>
  </message>
  <message>
   <source>Reads from</source>
   <translation>Liest von</translation>
  </message>
  <message>
   <source>Ready</source>
   <translation>Fertig</translation>
  </message>
  <message>
   <source>Refused the last time</source>
   <translation>Beim letzten Mal abgelehnt</translation>
  </message>
  <message>
   <source>Rest above a power of</source>
   <translation>Ruht über einer Leistung von</translation>
  </message>
  <message>
   <source>Rest be&amp;low</source>
   <translation>Ruht &amp;unter</translation>
  </message>
  <message>
   <source>Rest the card when they need more than</source>
   <translation>Karte ruht, wenn sie mehr brauchen als</translation>
  </message>
  <message>
   <source>Rest when h&amp;otter than</source>
   <translation>Ruht, wenn &amp;heißer als</translation>
  </message>
  <message>
   <source>Rest when other programs need more than</source>
   <translation>Ruht, wenn andere mehr brauchen als</translation>
  </message>
  <message>
   <source>Rest while a program &amp;fills the screen</source>
   <translation>Ruht, solange ein Programm den &amp;Bildschirm füllt</translation>
  </message>
  <message>
   <source>Rest while the computer runs on its &amp;battery</source>
   <translation>Ruht, solange der Rechner mit &amp;Akku läuft</translation>
  </message>
  <message>
   <source>Rest while these &amp;run</source>
   <translation>Ruht, solange diese &amp;laufen</translation>
  </message>
  <message>
   <source>Resting</source>
   <translation>Ruht</translation>
  </message>
  <message>
   <source>Resume contributing, then try again.</source>
   <translation>Das Mitrechnen wieder einschalten, dann noch einmal versuchen.</translation>
  </message>
  <message>
   <source>Resuming…</source>
   <translation>Geht weiter…</translation>
  </message>
  <message>
   <source>Role</source>
   <translation>Rolle</translation>
  </message>
  <message>
   <source>Rounds</source>
   <translation>Runden</translation>
  </message>
  <message>
   <source>Rules about what the system does not tell stop nothing here: {0}.</source>
   <translation>Regeln zu dem, was das System nicht sagt, halten hier nichts an: {0}.</translation>
  </message>
  <message>
   <source>S&amp;top it now</source>
   <translation>Sofort s&amp;toppen</translation>
  </message>
  <message>
   <source>Samples</source>
   <translation>Beispiele</translation>
  </message>
  <message>
   <source>Samples/s</source>
   <translation>Beispiele/s</translation>
  </message>
  <message>
   <source>Saturday</source>
   <translation>Samstag</translation>
  </message>
  <message>
   <source>Say yes or no.</source>
   <translation>Mit yes oder no antworten.</translation>
  </message>
  <message>
   <source>See them with: potluck collaborations</source>
   <translation>Zu sehen mit: potluck collaborations</translation>
  </message>
  <message>
   <source>See what happened</source>
   <translation>Ansehen, was geschah</translation>
  </message>
  <message>
   <source>Settings</source>
   <translation>Einstellungen</translation>
  </message>
  <message>
   <source>Several collaborations are called {0}.</source>
   <translation>Mehrere Projekte heißen {0}.</translation>
  </message>
  <message>
   <source>Share</source>
   <translation>Anteil</translation>
  </message>
  <message>
   <source>Sign</source>
   <translation>Unterschreiben</translation>
  </message>
  <message>
   <source>Signatures do not fit</source>
   <translation>Unterschriften passen nicht</translation>
  </message>
  <message>
   <source>Signed by nobody else</source>
   <translation>Nicht bezeugt</translation>
  </message>
  <message>
   <source>Signed by {names}; {count} missing, until {until}.</source>
   <translation>Unterschrieben von {names}; es fehlen noch {count}, bis {until}.</translation>
  </message>
  <message>
   <source>Some of the shards that {0} lists do not lie beside it, or have changed.</source>
   <translation>Einige der Stücke, die {0} nennt, liegen nicht daneben oder haben sich geändert.</translation>
  </message>
  <message>
   <source>Somebody is at this computer now.</source>
   <translation>An diesem Rechner ist gerade jemand.</translation>
  </message>
  <message>
   <source>Somebody uses it from afar.</source>
   <translation>Jemand nutzt ihn aus der Ferne.</translation>
  </message>
  <message>
   <source>Something went wrong inside Potluck.</source>
   <translation>In Potluck ist etwas schiefgegangen.</translation>
  </message>
  <message>
   <source>Space opens or closes the hour.</source>
   <translation>Die Leertaste öffnet oder schließt die Stunde.</translation>
  </message>
  <message>
   <source>Start &amp;Potluck, hidden, when I log in</source>
   <translation>&amp;Potluck beim Anmelden ohne Fenster starten</translation>
  </message>
  <message>
   <source>Start Potluck again; the log {0} says why.</source>
   <translation>Potluck neu starten; den Grund nennt das Protokoll {0}.</translation>
  </message>
  <message>
   <source>Start again.</source>
   <translation>Neu starten.</translation>
  </message>
  <message>
   <source>Start the engine</source>
   <translation>Den Dienst starten</translation>
  </message>
  <message>
   <source>Starting</source>
   <translation>Startet</translation>
  </message>
  <message>
   <source>Starting the engine: the part of Potluck that trains and talks to the others.</source>
   <translation>Startet den Dienst: den Teil von Potluck, der trainiert und mit den anderen spricht.</translation>
  </message>
  <message>
   <source>Status: {words}</source>
   <translation>Zustand: {words}</translation>
  </message>
  <message>
   <source>Sunday</source>
   <translation>Sonntag</translation>
  </message>
  <message>
   <source>System</source>
   <translation>System</translation>
  </message>
  <message>
   <source>Take part with: potluck join LINK, or try it out with: potluck demo</source>
   <translation>Mitmachen mit: potluck join LINK, oder ausprobieren mit: potluck demo</translation>
  </message>
  <message>
   <source>Taking part</source>
   <translation>Machen mit</translation>
  </message>
  <message>
   <source>Tell the organiser.</source>
   <translation>Der Leitung Bescheid geben.</translation>
  </message>
  <message>
   <source>Text for the model</source>
   <translation>Text für das Modell</translation>
  </message>
  <message>
   <source>Text on the disk</source>
   <translation>Text auf der Platte</translation>
  </message>
  <message>
   <source>Text to learn from</source>
   <translation>Lerntext</translation>
  </message>
  <message>
   <source>Text: {flow}</source>
   <translation>Text: {flow}</translation>
  </message>
  <message>
   <source>The &amp;best that there is: a graphics card, else the processor</source>
   <translation>Das &amp;beste, das es gibt: eine Grafikkarte, sonst der Prozessor</translation>
  </message>
  <message>
   <source>The &amp;graphics card rests</source>
   <translation>Die &amp;Grafikkarte ruht</translation>
  </message>
  <message>
   <source>The &amp;processor rests</source>
   <translation>Der &amp;Prozessor ruht</translation>
  </message>
  <message>
   <source>The Potluck that runs in the background is of another version. Restart it, or stop it with: potluck quit</source>
   <translation>Das Potluck im Hintergrund hat eine andere Version. Bitte neu starten, oder beenden mit: potluck quit</translation>
  </message>
  <message>
   <source>The access pass was not renewed: the backbone's clock is {0} {1} the time of all peers here. Tell the organiser.</source>
   <translation>Der Ausweis wurde nicht erneuert: Die Uhr des Backbones weicht um {0} ab ({1} der Zeit aller anderen hier). Bitte der Leitung sagen.</translation>
  </message>
  <message>
   <source>The address {where} in the link was passed over. {reason}</source>
   <translation>Die Adresse {where} im Link wurde übergangen. {reason}</translation>
  </message>
  <message>
   <source>The backbone answered something unreadable ({0}).</source>
   <translation>Das Backbone hat Unlesbares geantwortet ({0}).</translation>
  </message>
  <message>
   <source>The backbone answered {0} to {1}.</source>
   <translation>Das Backbone hat auf {1} mit {0} geantwortet.</translation>
  </message>
  <message>
   <source>The backbone did not start.</source>
   <translation>Der Stützpunkt ist nicht gestartet.</translation>
  </message>
  <message>
   <source>The backbone gave the pass of another computer.</source>
   <translation>Der Stützpunkt gab den Ausweis eines anderen Rechners.</translation>
  </message>
  <message>
   <source>The backbone has lost its port to another program.</source>
   <translation>Der Stützpunkt hat seinen Port an ein anderes Programm verloren.</translation>
  </message>
  <message>
   <source>The backbone lets nobody in at present.</source>
   <translation>Der Stützpunkt lässt zurzeit niemanden ein.</translation>
  </message>
  <message>
   <source>The backbone offers another collaboration than the link names.</source>
   <translation>Der Stützpunkt bietet ein anderes Projekt an, als der Link nennt.</translation>
  </message>
  <message>
   <source>The backbone's answer to {0} is longer than {1} bytes.</source>
   <translation>Die Antwort des Backbones auf {0} ist länger als {1} Byte.</translation>
  </message>
  <message>
   <source>The battery holds less than {percent} %. Potluck continues when it is plugged in.</source>
   <translation>Der Akku hat weniger als {percent} %. Potluck macht weiter, wenn das Netzteil angeschlossen ist.</translation>
  </message>
  <message>
   <source>The battery is charged to {0}.</source>
   <translation>Der Akku ist zu {0} geladen.</translation>
  </message>
  <message>
   <source>The check could not be run. On the command line it is: potluck doctor</source>
   <translation>Die Prüfung ließ sich nicht ausführen. Auf der Befehlszeile heißt sie: potluck doctor</translation>
  </message>
  <message>
   <source>The clock is kept right by the system.</source>
   <translation>Das System stellt die Uhr.</translation>
  </message>
  <message>
   <source>The clock shows a possible time; joining compares it with the collaboration's.</source>
   <translation>Die Uhr zeigt eine mögliche Zeit; der Beitritt vergleicht sie mit der des Projekts.</translation>
  </message>
  <message>
   <source>The collaboration</source>
   <translation>Das Projekt</translation>
  </message>
  <message>
   <source>The collaboration and this computer</source>
   <translation>Das Projekt und dieser Rechner</translation>
  </message>
  <message>
   <source>The collaboration uses a newer version of Potluck.</source>
   <translation>Das Projekt benutzt eine neuere Version von Potluck.</translation>
  </message>
  <message>
   <source>The collaboration uses an older version of Potluck.</source>
   <translation>Das Projekt benutzt eine ältere Version von Potluck.</translation>
  </message>
  <message>
   <source>The command line does everything: potluck --help</source>
   <translation>Die Befehlszeile kann alles: potluck --help</translation>
  </message>
  <message>
   <source>The computer at {where}</source>
   <translation>Der Rechner unter {where}</translation>
  </message>
  <message>
   <source>The current one is {0}.</source>
   <translation>Das aktuelle ist {0}.</translation>
  </message>
  <message>
   <source>The data are other ones than before, so reading begins anew.</source>
   <translation>Die Daten sind andere als zuvor, darum beginnt das Lesen von vorn.</translation>
  </message>
  <message>
   <source>The device {0} cannot be used: {1}.</source>
   <translation>Das Gerät {0} kann nicht benutzt werden: {1}.</translation>
  </message>
  <message>
   <source>The disk is full.</source>
   <translation>Die Festplatte ist voll.</translation>
  </message>
  <message>
   <source>The disk is full: Potluck has no room for its files in {folder}. Free at least 200 MB there.</source>
   <translation>Die Festplatte ist voll: In {folder} ist kein Platz für die Dateien von Potluck. Bitte dort mindestens 200 MB freigeben.</translation>
  </message>
  <message>
   <source>The engine cannot be reached right now.</source>
   <translation>Der Dienst ist gerade nicht erreichbar.</translation>
  </message>
  <message>
   <source>The engine could not be started: {why}.</source>
   <translation>Der Dienst ließ sich nicht starten: {why}.</translation>
  </message>
  <message>
   <source>The engine has not joined a collaboration yet.</source>
   <translation>Der Dienst ist noch keinem Projekt beigetreten.</translation>
  </message>
  <message>
   <source>The engine is starting; this window connects to it in a moment.</source>
   <translation>Der Dienst startet; dieses Fenster verbindet sich gleich mit ihm.</translation>
  </message>
  <message>
   <source>The engine, without a window</source>
   <translation>Der Dienst, ohne Fenster</translation>
  </message>
  <message>
   <source>The file with this computer's key is damaged.</source>
   <translation>Die Datei mit dem Schlüssel dieses Rechners ist beschädigt.</translation>
  </message>
  <message>
   <source>The first of them is used.</source>
   <translation>Das erste davon wird genutzt.</translation>
  </message>
  <message>
   <source>The folder {folder} of this computer; only a start in a terminal allows it: potluck engine --text</source>
   <translation>Den Ordner {folder} dieses Rechners; das erlaubt nur ein Start im Terminal: potluck engine --text</translation>
  </message>
  <message>
   <source>The graphics card rests while this computer is in use. Potluck continues when nobody has touched it for {minutes} min.</source>
   <translation>Die Grafikkarte ruht, solange dieser Rechner benutzt wird. Potluck macht weiter, wenn ihn {minutes} min lang niemand angerührt hat.</translation>
  </message>
  <message>
   <source>The graphics card took more than {watts} W. Potluck continues in a minute or two.</source>
   <translation>Die Grafikkarte nahm mehr als {watts} W auf. Potluck macht in ein, zwei Minuten weiter.</translation>
  </message>
  <message>
   <source>The graphics card was hotter than {celsius} °C. Potluck continues when it has cooled down.</source>
   <translation>Die Grafikkarte war heißer als {celsius} °C. Potluck macht weiter, wenn sie abgekühlt ist.</translation>
  </message>
  <message>
   <source>The kept list of whom the organiser has shut out is damaged.</source>
   <translation>Die gespeicherte Liste der Ausgeschlossenen ist beschädigt.</translation>
  </message>
  <message>
   <source>The last 14 days</source>
   <translation>Die letzten 14 Tage</translation>
  </message>
  <message>
   <source>The last places of this invitation are held for computers that are about to come in.</source>
   <translation>Die letzten Plätze dieser Einladung werden für Computer freigehalten, die gerade dazukommen.</translation>
  </message>
  <message>
   <source>The last steps up to epoch {epoch} that this computer took were not kept: most others had gone on from an earlier one without it. It goes on with theirs.</source>
   <translation>Die letzten Schritte dieses Rechners bis Epoche {epoch} wurden nicht behalten: Die meisten anderen waren ohne ihn von einer früheren aus weitergegangen. Er macht mit ihren weiter.</translation>
  </message>
  <message>
   <source>The link could not be looked at.</source>
   <translation>Der Link ließ sich nicht ansehen.</translation>
  </message>
  <message>
   <source>The links of the collaborations could not be read; the damaged file was kept as {0}.</source>
   <translation>Die Links der Projekte waren nicht lesbar; die beschädigte Datei wurde als {0} aufgehoben.</translation>
  </message>
  <message>
   <source>The log says more.</source>
   <translation>Im Protokoll steht mehr.</translation>
  </message>
  <message>
   <source>The loss curve is empty: it begins with the first epoch.</source>
   <translation>Die Verlustkurve ist leer: Sie beginnt mit der ersten Epoche.</translation>
  </message>
  <message>
   <source>The manifest {0} cannot be read: {1}.</source>
   <translation>Das Manifest {0} lässt sich nicht lesen: {1}.</translation>
  </message>
  <message>
   <source>The mean of a round could not be read, or nobody had asked for it.</source>
   <translation>Der Mittelwert einer Runde ließ sich nicht lesen, oder niemand hatte danach gefragt.</translation>
  </message>
  <message>
   <source>The message is not JSON.</source>
   <translation>Die Nachricht ist kein JSON.</translation>
  </message>
  <message>
   <source>The message is not a valid request: {0}.</source>
   <translation>Die Nachricht ist keine gültige Anfrage: {0}.</translation>
  </message>
  <message>
   <source>The model</source>
   <translation>Das Modell</translation>
  </message>
  <message>
   <source>The model gave no answer.</source>
   <translation>Das Modell gab keine Antwort.</translation>
  </message>
  <message>
   <source>The model gives numbers that are not finite.</source>
   <translation>Das Modell liefert Zahlen, die nicht endlich sind.</translation>
  </message>
  <message>
   <source>The model's loss is not a finite number.</source>
   <translation>Der Verlust des Modells ist keine endliche Zahl.</translation>
  </message>
  <message>
   <source>The model, as numbers, files that the collaboration names by their digest, such as a vocabulary, and text to learn from, from the addresses that you saw before you joined. Never programs: new code comes with a new version of Potluck only, which you install yourself.</source>
   <translation>Das Modell, in Zahlen, Dateien, die das Projekt mit ihrem Fingerabdruck nennt, etwa ein Wortschatz, und Lerntext von den Adressen, die Sie vor dem Beitritt gesehen haben. Nie Programme: Neuer Code kommt nur mit einer neuen Version von Potluck, die Sie selbst installieren.</translation>
  </message>
  <message>
   <source>The moderators have had everybody go back to epoch {epoch}; what came after it counts no more. {words}</source>
   <translation>Die Moderatoren haben alle zu Epoche {epoch} zurückgehen lassen; was danach kam, zählt nicht mehr. {words}</translation>
  </message>
  <message>
   <source>The moderators let nobody new in at present.</source>
   <translation>Die Moderatoren lassen zurzeit niemanden neu herein.</translation>
  </message>
  <message>
   <source>The moderators say: {words}</source>
   <translation>Die Moderatoren sagen: {words}</translation>
  </message>
  <message>
   <source>The month's limit for the network is used up. Potluck continues with the next month.</source>
   <translation>Die Monatsgrenze für das Netzwerk ist erreicht. Potluck macht im nächsten Monat weiter.</translation>
  </message>
  <message>
   <source>The name {0} belongs to somebody else here.</source>
   <translation>Der Name {0} gehört hier schon jemand anderem.</translation>
  </message>
  <message>
   <source>The name {0} cannot be used.</source>
   <translation>Der Name {0} geht nicht.</translation>
  </message>
  <message>
   <source>The name {0} mixes letters of several alphabets.</source>
   <translation>Der Name {0} mischt Buchstaben mehrerer Alphabete.</translation>
  </message>
  <message>
   <source>The newest model on this computer is asked: this takes some seconds…</source>
   <translation>Das neueste Modell auf diesem Rechner wird gefragt: Das dauert einige Sekunden…</translation>
  </message>
  <message>
   <source>The organiser does not say.</source>
   <translation>Keine Angabe.</translation>
  </message>
  <message>
   <source>The organiser has shut this computer out of the collaboration.</source>
   <translation>Die Leitung hat diesen Rechner vom Projekt ausgeschlossen.</translation>
  </message>
  <message>
   <source>The organiser's computer</source>
   <translation>Der Rechner der Leitung</translation>
  </message>
  <message>
   <source>The organiser's computer does not say.</source>
   <translation>Keine Angabe.</translation>
  </message>
  <message>
   <source>The others have signed that it was averaged.</source>
   <translation>Die anderen haben unterschrieben, dass es gemittelt wurde.</translation>
  </message>
  <message>
   <source>The pass of {0} is not a backbone's.</source>
   <translation>Der Ausweis von {0} ist keiner eines Backbones.</translation>
  </message>
  <message>
   <source>The pot is full: everyone's samples become the next step of the model.</source>
   <translation>Der Topf ist voll: Aus den Beispielen aller wird der nächste Schritt des Modells.</translation>
  </message>
  <message>
   <source>The processor has {0} °C.</source>
   <translation>Der Prozessor hat {0} °C.</translation>
  </message>
  <message>
   <source>The processor took more than {watts} W. Potluck continues in a minute or two.</source>
   <translation>Der Prozessor nahm mehr als {watts} W auf. Potluck macht in ein, zwei Minuten weiter.</translation>
  </message>
  <message>
   <source>The processor was hotter than {celsius} °C. Potluck continues when it has cooled down.</source>
   <translation>Der Prozessor war heißer als {celsius} °C. Potluck macht weiter, wenn er abgekühlt ist.</translation>
  </message>
  <message>
   <source>The receipt is not what its members signed: somebody or the disk has changed it.</source>
   <translation>Die Quittung ist nicht die, die unterschrieben wurde: Jemand oder die Festplatte hat sie verändert.</translation>
  </message>
  <message>
   <source>The registry cannot be changed: {0}.</source>
   <translation>Die Registrierung lässt sich nicht ändern: {0}.</translation>
  </message>
  <message>
   <source>The request did not arrive in time.</source>
   <translation>Die Anfrage kam nicht rechtzeitig an.</translation>
  </message>
  <message>
   <source>The router lets nobody in, and no relay has been found yet.</source>
   <translation>Der Router lässt niemanden herein, und noch wurde kein Vermittler gefunden.</translation>
  </message>
  <message>
   <source>The router lets nobody in. Other volunteers reach this computer through a relay.</source>
   <translation>Der Router lässt niemanden herein. Die anderen Mitwirkenden erreichen diesen Rechner über einen Vermittler.</translation>
  </message>
  <message>
   <source>The router says that it forwards the port, so there is another router before it, or a firewall on this computer keeps others out. Allow Potluck in the firewall; a second router does no harm.</source>
   <translation>Der Router sagt, dass er den Port weiterleitet; also steht ein weiterer davor, oder eine Firewall auf diesem Rechner sperrt andere aus. Potluck in der Firewall erlauben; ein weiterer Router schadet nicht.</translation>
  </message>
  <message>
   <source>The server at the backbone's address cannot prove that it is this collaboration's backbone.</source>
   <translation>Der Server an der Adresse des Stützpunkts kann nicht beweisen, dass er der Stützpunkt dieses Projekts ist.</translation>
  </message>
  <message>
   <source>The settings are saved.</source>
   <translation>Die Einstellungen sind gespeichert.</translation>
  </message>
  <message>
   <source>The settings say {0}.</source>
   <translation>Eingestellt ist {0}.</translation>
  </message>
  <message>
   <source>The state {0} is not what was written.</source>
   <translation>Der Stand {0} ist nicht, was geschrieben wurde.</translation>
  </message>
  <message>
   <source>The states of {0} in {1} are damaged.</source>
   <translation>Die Stände von {0} in {1} sind beschädigt.</translation>
  </message>
  <message>
   <source>The step to epoch {0} led to numbers that are not finite, so it was undone.</source>
   <translation>Der Schritt zu Epoche {0} führte zu unendlichen Zahlen und wurde zurückgenommen.</translation>
  </message>
  <message>
   <source>The system does not keep its clock right by itself.</source>
   <translation>Das System stellt die Uhr nicht von selbst.</translation>
  </message>
  <message>
   <source>The system does not let Potluck keep this computer awake.</source>
   <translation>Das System lässt nicht zu, dass Potluck diesen Rechner wach hält.</translation>
  </message>
  <message>
   <source>The system does not say whether it costs.</source>
   <translation>Ob sie etwas kostet, sagt das System nicht.</translation>
  </message>
  <message>
   <source>The system does not say whether it costs. If it does, set limits, as in: potluck settings month 5GB</source>
   <translation>Das System sagt nicht, ob sie etwas kostet. Wenn ja, helfen Grenzen, etwa: potluck settings month 5GB</translation>
  </message>
  <message>
   <source>The system does not say whether its clock is kept right.</source>
   <translation>Ob die Uhr richtig gestellt wird, sagt das System nicht.</translation>
  </message>
  <message>
   <source>The system says that it costs by the megabyte: Potluck leaves it alone.</source>
   <translation>Sie kostet nach Datenmenge, sagt das System: Potluck rührt sie nicht an.</translation>
  </message>
  <message>
   <source>The system's keyring answers.</source>
   <translation>Der Schlüsselbund des Systems antwortet.</translation>
  </message>
  <message>
   <source>The system's keyring is switched off by POTLUCK_KEYRING.</source>
   <translation>Der Schlüsselbund des Systems ist mit POTLUCK_KEYRING abgeschaltet.</translation>
  </message>
  <message>
   <source>The system's keyring {0}.</source>
   <translation>Der Schlüsselbund des Systems {0}.</translation>
  </message>
  <message>
   <source>The time given so far could not be read; the damaged file is {0}.</source>
   <translation>Die bisher gegebene Zeit war nicht lesbar; die beschädigte Datei ist {0}.</translation>
  </message>
  <message>
   <source>The training process did not answer any more.</source>
   <translation>Der Trainingsprozess antwortete nicht mehr.</translation>
  </message>
  <message>
   <source>The training process does not answer.</source>
   <translation>Der Trainingsprozess antwortet nicht.</translation>
  </message>
  <message>
   <source>The training process ended with code {0}.</source>
   <translation>Das Trainingsprogramm endete mit Code {0}.</translation>
  </message>
  <message>
   <source>The training process stopped.</source>
   <translation>Der Trainingsprozess hat aufgehört.</translation>
  </message>
  <message>
   <source>The training process was ended by signal {0}.</source>
   <translation>Das Trainingsprogramm wurde durch Signal {0} beendet.</translation>
  </message>
  <message>
   <source>The training process was not started properly.</source>
   <translation>Das Trainingsprogramm wurde nicht richtig gestartet.</translation>
  </message>
  <message>
   <source>The training process was started twice.</source>
   <translation>Der Trainingsprozess wurde zweimal gestartet.</translation>
  </message>
  <message>
   <source>The training program is starting.</source>
   <translation>Das Trainingsprogramm startet.</translation>
  </message>
  <message>
   <source>The window can open.</source>
   <translation>Das Fenster lässt sich öffnen.</translation>
  </message>
  <message>
   <source>The window is minimised then: this desktop has no place for icons.</source>
   <translation>Das Fenster wird dann minimiert: Diese Arbeitsfläche hat keinen Platz für Symbole.</translation>
  </message>
  <message>
   <source>The window is not installed.</source>
   <translation>Das Fenster ist nicht installiert.</translation>
  </message>
  <message>
   <source>The window speaks it from its next start on: quit Potluck and open it again.</source>
   <translation>Das Fenster spricht sie ab dem nächsten Start: Potluck beenden und wieder öffnen.</translation>
  </message>
  <message>
   <source>The window, hidden</source>
   <translation>Das Fenster, verborgen</translation>
  </message>
  <message>
   <source>Then it &amp;computes</source>
   <translation>Dann rechnet &amp;er</translation>
  </message>
  <message>
   <source>There are no such times: {0}.</source>
   <translation>Solche Zeiten gibt es nicht: {0}.</translation>
  </message>
  <message>
   <source>There is no connection to other volunteers.</source>
   <translation>Es gibt keine Verbindung zu anderen Mitwirkenden.</translation>
  </message>
  <message>
   <source>There is no index {0}.</source>
   <translation>Es gibt kein Verzeichnis {0}.</translation>
  </message>
  <message>
   <source>There is no method {0}.</source>
   <translation>Es gibt keine Methode {0}.</translation>
  </message>
  <message>
   <source>There is no model of {0} on this computer yet.</source>
   <translation>Auf diesem Rechner gibt es noch kein Modell von {0}.</translation>
  </message>
  <message>
   <source>There is no screen here.</source>
   <translation>Hier ist kein Bildschirm.</translation>
  </message>
  <message>
   <source>There is no setting {0}.</source>
   <translation>Es gibt keine Einstellung {0}.</translation>
  </message>
  <message>
   <source>They say: {words}</source>
   <translation>Sie sagen: {words}</translation>
  </message>
  <message>
   <source>This account has {0} computers, with those that were ended.</source>
   <translation>Dieses Konto hat {0} Rechner, die ausgeschlossenen mitgezählt.</translation>
  </message>
  <message>
   <source>This can only be on or off.</source>
   <translation>Das kann nur ein oder aus sein.</translation>
  </message>
  <message>
   <source>This collaboration</source>
   <translation>Dieses Projekt</translation>
  </message>
  <message>
   <source>This command needs {0}, which is not installed.</source>
   <translation>Dieser Befehl braucht {0}, und das ist nicht installiert.</translation>
  </message>
  <message>
   <source>This comput&amp;er</source>
   <translation>Dieser Re&amp;chner</translation>
  </message>
  <message>
   <source>This computer</source>
   <translation>Dieser Rechner</translation>
  </message>
  <message>
   <source>This computer averaged or passed on what others had computed, and had no samples of its own.</source>
   <translation>Dieser Rechner mittelte oder leitete weiter, was andere gerechnet hatten, und hatte keine eigenen Beispiele.</translation>
  </message>
  <message>
   <source>This computer cannot be kept awake: neither systemd-inhibit nor caffeinate is installed.</source>
   <translation>Dieser Rechner lässt sich nicht wach halten: Weder systemd-inhibit noch caffeinate ist installiert.</translation>
  </message>
  <message>
   <source>This computer cannot be kept awake: {0}.</source>
   <translation>Dieser Rechner lässt sich nicht wach halten: {0}.</translation>
  </message>
  <message>
   <source>This computer cannot listen on {0}: {1}.</source>
   <translation>Dieser Rechner kann an {0} nicht lauschen: {1}.</translation>
  </message>
  <message>
   <source>This computer has a network: its router's line may be dead, or theirs, or a firewall blocks this program.</source>
   <translation>Dieser Rechner hat Netz: Vielleicht ist die Leitung des Routers tot oder die der anderen, oder eine Firewall hält dieses Programm auf.</translation>
  </message>
  <message>
   <source>This computer has joined no collaboration.</source>
   <translation>Dieser Rechner ist keinem Projekt beigetreten.</translation>
  </message>
  <message>
   <source>This computer has joined no collaboration. Join one with: potluck join LINK</source>
   <translation>Dieser Rechner ist keinem Projekt beigetreten. Beitreten mit: potluck join LINK</translation>
  </message>
  <message>
   <source>This computer has no memory left.</source>
   <translation>Dieser Rechner hat keinen Speicher mehr frei.</translation>
  </message>
  <message>
   <source>This computer has no network.</source>
   <translation>Dieser Rechner hat kein Netz.</translation>
  </message>
  <message>
   <source>This computer has no network: it trains alone, and its work may not be kept.</source>
   <translation>Dieser Rechner hat kein Netz: Er trainiert allein, und seine Arbeit geht vielleicht verloren.</translation>
  </message>
  <message>
   <source>This computer has taken part in no collaboration{0}, and trained none alone.</source>
   <translation>Dieser Rechner hat an keinem Projekt{0} teilgenommen und keins allein trainiert.</translation>
  </message>
  <message>
   <source>This computer helps with averaging and holds no model.</source>
   <translation>Dieser Rechner hilft beim Mitteln und hat kein Modell.</translation>
  </message>
  <message>
   <source>This computer is behind a router. Other volunteers reach it directly after a short introduction.</source>
   <translation>Dieser Rechner steht hinter einem Router. Die anderen Mitwirkenden erreichen ihn nach kurzer Vermittlung direkt.</translation>
  </message>
  <message>
   <source>This computer is in no network now.</source>
   <translation>Dieser Rechner ist gerade in keinem Netzwerk.</translation>
  </message>
  <message>
   <source>This computer is in no network.</source>
   <translation>Dieser Rechner ist in keinem Netzwerk.</translation>
  </message>
  <message>
   <source>This computer is in use. Potluck continues when nobody has touched it for {minutes} min.</source>
   <translation>Dieser Rechner wird benutzt. Potluck macht weiter, wenn ihn {minutes} min lang niemand angerührt hat.</translation>
  </message>
  <message>
   <source>This computer runs on its battery. Potluck continues when it is plugged in.</source>
   <translation>Dieser Rechner läuft mit Akku. Potluck macht weiter, wenn das Netzteil angeschlossen ist.</translation>
  </message>
  <message>
   <source>This computer takes part in {name}.</source>
   <translation>Dieser Computer nimmt teil an: {name}.</translation>
  </message>
  <message>
   <source>This computer's clock agrees with the collaboration's time again.</source>
   <translation>Die Uhr dieses Rechners stimmt wieder mit der Zeit des Projekts überein.</translation>
  </message>
  <message>
   <source>This computer's clock is wrong by years.</source>
   <translation>Die Uhr dieses Rechners geht um Jahre falsch.</translation>
  </message>
  <message>
   <source>This computer's clock is {0} {1} the collaboration's time, by which Potluck goes on. Let the system set the clock by itself (date and time settings): the hours that you chose follow it.</source>
   <translation>Die Uhr dieses Rechners weicht um {0} ab ({1} der Zeit des Projekts, nach der Potluck weitermacht). Bitte das System die Uhr selbst stellen lassen (Einstellungen für Datum und Zeit): Die gewählten Zeiten folgen ihr.</translation>
  </message>
  <message>
   <source>This computer's clock went back: its files are from the future.</source>
   <translation>Die Uhr dieses Rechners ging zurück: Seine Dateien stammen aus der Zukunft.</translation>
  </message>
  <message>
   <source>This computer's key is damaged.</source>
   <translation>Der Schlüssel dieses Rechners ist beschädigt.</translation>
  </message>
  <message>
   <source>This computer's key is in the system's keyring, and the keyring does not open.</source>
   <translation>Der Schlüssel dieses Rechners liegt im Schlüsselbund des Systems, und der lässt sich nicht öffnen.</translation>
  </message>
  <message>
   <source>This computer's key is no longer in the system's keyring.</source>
   <translation>Der Schlüssel dieses Rechners liegt nicht mehr im Schlüsselbund des Systems.</translation>
  </message>
  <message>
   <source>This computer's memory does not suffice to train this model.</source>
   <translation>Der Speicher dieses Rechners reicht nicht, um dieses Modell zu trainieren.</translation>
  </message>
  <message>
   <source>This connection costs money by the megabyte. Potluck continues with another one.</source>
   <translation>Diese Verbindung kostet nach Datenmenge. Potluck macht mit einer anderen weiter.</translation>
  </message>
  <message>
   <source>This description of hours is too long.</source>
   <translation>Diese Beschreibung der Zeiten ist zu lang.</translation>
  </message>
  <message>
   <source>This function returns the ___ of a file.</source>
   <translation>This function returns the ___ of a file.</translation>
  </message>
  <message>
   <source>This invitation has been used as often as it may be.</source>
   <translation>Diese Einladung wurde so oft benutzt, wie sie darf.</translation>
  </message>
  <message>
   <source>This invitation has expired.</source>
   <translation>Diese Einladung ist abgelaufen.</translation>
  </message>
  <message>
   <source>This invitation is not valid; the organiser may have withdrawn it.</source>
   <translation>Diese Einladung gilt nicht; vielleicht hat die Leitung sie zurückgezogen.</translation>
  </message>
  <message>
   <source>This is done on the computer itself.</source>
   <translation>Das geht nur am Rechner selbst.</translation>
  </message>
  <message>
   <source>This is not a Potluck link.</source>
   <translation>Das ist kein Link von Potluck.</translation>
  </message>
  <message>
   <source>This is not a device that can train.</source>
   <translation>Das ist kein Gerät, das trainieren kann.</translation>
  </message>
  <message>
   <source>This is not a name that the others could read.</source>
   <translation>Diesen Namen könnten die anderen nicht lesen.</translation>
  </message>
  <message>
   <source>This is not a position of a switch.</source>
   <translation>So kann ein Schalter nicht stehen.</translation>
  </message>
  <message>
   <source>This is not a valid list of programs.</source>
   <translation>Das ist keine gültige Liste von Programmen.</translation>
  </message>
  <message>
   <source>This is outside the hours that you chose. Potluck continues {moment} at the earliest.</source>
   <translation>Jetzt ist keine der gewählten Zeiten. Potluck macht frühestens {moment} weiter.</translation>
  </message>
  <message>
   <source>This link cannot be read: {0}.</source>
   <translation>Dieser Link ist nicht lesbar: {0}.</translation>
  </message>
  <message>
   <source>This link does not say which collaboration it leads to.</source>
   <translation>Dieser Link sagt nicht, zu welchem Projekt er führt.</translation>
  </message>
  <message>
   <source>This link has no invitation.</source>
   <translation>Dieser Link enthält keine Einladung.</translation>
  </message>
  <message>
   <source>This number cannot be chosen here.</source>
   <translation>Diese Zahl geht hier nicht.</translation>
  </message>
  <message>
   <source>This request cannot be read.</source>
   <translation>Diese Anfrage ist nicht lesbar.</translation>
  </message>
  <message>
   <source>This system has no systemd, which would start the engine.</source>
   <translation>Dieses System hat kein systemd, das den Dienst starten würde.</translation>
  </message>
  <message>
   <source>This system has no usable keyring: this computer's key is in the file {0}, readable by you only.</source>
   <translation>Dieses System hat keinen brauchbaren Schlüsselbund: Der Schlüssel dieses Rechners liegt in der Datei {0}, die nur das eigene Benutzerkonto lesen kann.</translation>
  </message>
  <message>
   <source>This system tells nothing about its use.</source>
   <translation>Dieses System sagt nichts darüber, wie es genutzt wird.</translation>
  </message>
  <message>
   <source>This time has passed, or it is too far ahead.</source>
   <translation>Diese Zeit ist vorbei oder zu weit weg.</translation>
  </message>
  <message>
   <source>This version of Potluck cannot read the collaboration.</source>
   <translation>Diese Version von Potluck kann das Projekt nicht lesen.</translation>
  </message>
  <message>
   <source>This version of Potluck reads its text in another way, so the collaboration on this computer begins anew; the earlier one was kept in {folder}.</source>
   <translation>Diese Version von Potluck liest den Text auf andere Weise, darum beginnt das Projekt auf diesem Computer neu; das frühere liegt in {folder}.</translation>
  </message>
  <message>
   <source>Threads that train</source>
   <translation>Kerne, die trainieren</translation>
  </message>
  <message>
   <source>Three volunteers on this computer train a small model together, at low priority. Nothing leaves this computer; you can join others at any time.</source>
   <translation>Auf diesem Rechner trainieren drei Mitwirkende zusammen ein kleines Modell, mit geringem Vorrang. Nichts verlässt diesen Rechner; ein Beitritt zu anderen ist jederzeit möglich.</translation>
  </message>
  <message>
   <source>Through a router; nothing has to be set up for that. The window says more after the start.</source>
   <translation>Durch einen Router; einzurichten ist dafür nichts. Nach dem Start sagt das Fenster mehr.</translation>
  </message>
  <message>
   <source>Thursday</source>
   <translation>Donnerstag</translation>
  </message>
  <message>
   <source>Time</source>
   <translation>Dauer</translation>
  </message>
  <message>
   <source>Too many computers at this address have asked to join.</source>
   <translation>Zu viele Rechner an dieser Adresse wollten beitreten.</translation>
  </message>
  <message>
   <source>Too many requests are under way.</source>
   <translation>Zu viele Anfragen sind unterwegs.</translation>
  </message>
  <message>
   <source>Too many windows and commands are connected to the engine. Close one of them.</source>
   <translation>Zu viele Fenster und Befehle sind mit dem Dienst verbunden. Bitte eines davon schließen.</translation>
  </message>
  <message>
   <source>Traffic</source>
   <translation>Daten</translation>
  </message>
  <message>
   <source>Train a model together</source>
   <translation>Zusammen ein Modell trainieren</translation>
  </message>
  <message>
   <source>Training</source>
   <translation>Trainiert</translation>
  </message>
  <message>
   <source>Training can use {0}.</source>
   <translation>Trainieren kann: {0}.</translation>
  </message>
  <message>
   <source>Training can use {0}. The settings say {1}, and there is no {2} now.</source>
   <translation>Trainieren kann: {0}. Eingestellt ist {1}, und {2} gibt es gerade nicht.</translation>
  </message>
  <message>
   <source>Training cannot keep to that much memory.</source>
   <translation>Mit so viel Speicher kommt das Training nicht aus.</translation>
  </message>
  <message>
   <source>Training ended at its start again and again; it is tried with the processor alone.</source>
   <translation>Das Training endete immer wieder beim Start; jetzt wird es allein mit dem Prozessor versucht.</translation>
  </message>
  <message>
   <source>Training goes on from the last saved state.</source>
   <translation>Das Training geht vom zuletzt gespeicherten Stand aus weiter.</translation>
  </message>
  <message>
   <source>Training goes on from the last saved state; if it happens again, the learning rate is too high.</source>
   <translation>Das Training geht vom zuletzt gespeicherten Stand aus weiter; geschieht es wieder, ist die Lernrate zu hoch.</translation>
  </message>
  <message>
   <source>Training goes on from the last state that is whole.</source>
   <translation>Das Training geht vom letzten heilen Stand aus weiter.</translation>
  </message>
  <message>
   <source>Training loss</source>
   <translation>Verlust beim Training</translation>
  </message>
  <message>
   <source>Training runs on</source>
   <translation>Das Training läuft auf</translation>
  </message>
  <message>
   <source>Training runs on the processor; torch finds no other device here.</source>
   <translation>Das Training läuft auf dem Prozessor; torch findet hier kein anderes Gerät.</translation>
  </message>
  <message>
   <source>Training stands still for some minutes at first, and is faster then on some devices.</source>
   <translation>Das Training steht anfangs einige Minuten still und ist danach auf manchen Geräten schneller.</translation>
  </message>
  <message>
   <source>Training stopped: {0}.</source>
   <translation>Das Training ist zu Ende: {0}.</translation>
  </message>
  <message>
   <source>Training the tokenizer</source>
   <translation>Lernt, wie sich Text zerlegen lässt</translation>
  </message>
  <message>
   <source>Training this model takes more than {0} of memory, and you allow {1}.</source>
   <translation>Dieses Modell zu trainieren braucht mehr als {0} Arbeitsspeicher; erlaubt sind {1}.</translation>
  </message>
  <message>
   <source>Training {company}.</source>
   <translation>Trainiert {company}.</translation>
  </message>
  <message>
   <source>Training {company}: all {target} samples for epoch {epoch} are gathered.</source>
   <translation>Trainiert {company}: Alle {target} Beispiele für Epoche {epoch} sind beisammen.</translation>
  </message>
  <message>
   <source>Training {company}: {samples} of {target} samples for epoch {epoch}.</source>
   <translation>Trainiert {company}: {samples} von {target} Beispielen für Epoche {epoch}.</translation>
  </message>
  <message>
   <source>Trains on</source>
   <translation>Trainiert auf</translation>
  </message>
  <message>
   <source>Try a&amp;lone</source>
   <translation>A&amp;llein ausprobieren</translation>
  </message>
  <message>
   <source>Try again another day: your invitation stays as it is.</source>
   <translation>Versuchen Sie es an einem anderen Tag noch einmal: Ihre Einladung bleibt, wie sie ist.</translation>
  </message>
  <message>
   <source>Try again in a moment.</source>
   <translation>Gleich noch einmal versuchen.</translation>
  </message>
  <message>
   <source>Try again in some minutes, or ask the organiser for a new link.</source>
   <translation>Bitte in einigen Minuten noch einmal versuchen oder die Leitung um einen neuen Link bitten.</translation>
  </message>
  <message>
   <source>Try again when more volunteers are here.</source>
   <translation>Noch einmal versuchen, wenn mehr Mitwirkende da sind.</translation>
  </message>
  <message>
   <source>Try it</source>
   <translation>Ausprobieren</translation>
  </message>
  <message>
   <source>Try it alone &amp;first</source>
   <translation>Erst &amp;für sich allein ausprobieren</translation>
  </message>
  <message>
   <source>Try now</source>
   <translation>Jetzt versuchen</translation>
  </message>
  <message>
   <source>Trying now…</source>
   <translation>Versuch läuft…</translation>
  </message>
  <message>
   <source>Tuesday</source>
   <translation>Dienstag</translation>
  </message>
  <message>
   <source>Turn on UPnP or NAT-PMP in the router, or forward the port that `potluck doctor` names to this computer. Until then it trains as usual, but does not average for others.</source>
   <translation>Im Router UPnP oder NAT-PMP einschalten, oder den Port, den `potluck doctor` nennt, an diesen Rechner weiterleiten. Bis dahin trainiert er wie sonst, mittelt aber nicht für andere.</translation>
  </message>
  <message>
   <source>Turn on automatic date and time in the system's settings; other computers refuse messages of a wrong time.</source>
   <translation>In den Einstellungen des Systems Datum und Uhrzeit automatisch stellen lassen; andere Rechner weisen Nachrichten mit falscher Zeit ab.</translation>
  </message>
  <message>
   <source>UPnP or NAT-PMP in the router, or with TCP and UDP of port {0} forwarded to this computer.</source>
   <translation>UPnP oder NAT-PMP im Router, oder mit TCP und UDP von Port {0}, an diesen Rechner weitergeleitet.</translation>
  </message>
  <message>
   <source>Until &amp;tomorrow</source>
   <translation>Bis &amp;morgen</translation>
  </message>
  <message>
   <source>Until it is empty</source>
   <translation>Bis er leer ist</translation>
  </message>
  <message>
   <source>Until there was no &amp;input for</source>
   <translation>Bis so lange keine E&amp;ingabe kam</translation>
  </message>
  <message>
   <source>Up to {size} each way in an epoch. {cost}</source>
   <translation>Je Epoche bis zu {size} in jede Richtung. {cost}</translation>
  </message>
  <message>
   <source>Update Potluck, then open the link again.</source>
   <translation>Potluck aktualisieren, dann den Link wieder öffnen.</translation>
  </message>
  <message>
   <source>Update Potluck.</source>
   <translation>Potluck aktualisieren.</translation>
  </message>
  <message>
   <source>Use connections that &amp;cost money by the megabyte</source>
   <translation>Verbindungen &amp;benutzen, die nach Datenmenge kosten</translation>
  </message>
  <message>
   <source>Volunteer</source>
   <translation>Mitglied</translation>
  </message>
  <message>
   <source>Volunteers that nobody can call reach others through this computer, within small limits.</source>
   <translation>Mitwirkende, die niemand anrufen kann, erreichen andere durch diesen Rechner, in engen Grenzen.</translation>
  </message>
  <message>
   <source>Wait for half a minute.</source>
   <translation>Eine halbe Minute warten.</translation>
  </message>
  <message>
   <source>Wait for their answers.</source>
   <translation>Auf ihre Antworten warten.</translation>
  </message>
  <message>
   <source>Waiting</source>
   <translation>Wartet</translation>
  </message>
  <message>
   <source>Waiting for text</source>
   <translation>Wartet auf Text</translation>
  </message>
  <message>
   <source>Waiting for the first text to learn from.</source>
   <translation>Wartet auf den ersten Lerntext.</translation>
  </message>
  <message>
   <source>Wants to read</source>
   <translation>Will lesen</translation>
  </message>
  <message>
   <source>Warming up the pot</source>
   <translation>Der Topf wird warm</translation>
  </message>
  <message>
   <source>Warnings</source>
   <translation>Warnungen</translation>
  </message>
  <message>
   <source>Wednesday</source>
   <translation>Mittwoch</translation>
  </message>
  <message>
   <source>Welcome to Potluck</source>
   <translation>Willkommen bei Potluck</translation>
  </message>
  <message>
   <source>What comes to this computer</source>
   <translation>Was auf diesen Rechner kommt</translation>
  </message>
  <message>
   <source>What for</source>
   <translation>Wozu</translation>
  </message>
  <message>
   <source>What happened</source>
   <translation>Was geschah</translation>
  </message>
  <message>
   <source>What is left was kept as {0}. Put a copy back, or start again to join with a new key.</source>
   <translation>Was übrig ist, wurde als {0} aufgehoben. Bitte eine Kopie zurücklegen, oder neu starten, um mit einem neuen Schlüssel beizutreten.</translation>
  </message>
  <message>
   <source>What it can do is measured every few steps; that is still to come.</source>
   <translation>Was es kann, wird alle paar Schritte gemessen; das kommt noch.</translation>
  </message>
  <message>
   <source>What it can do now</source>
   <translation>Was es jetzt kann</translation>
  </message>
  <message>
   <source>What leaves this computer</source>
   <translation>Was diesen Rechner verlässt</translation>
  </message>
  <message>
   <source>What starts at login could not be found out.</source>
   <translation>Was beim Anmelden startet, ließ sich nicht herausfinden.</translation>
  </message>
  <message>
   <source>What the model says</source>
   <translation>Was das Modell sagt</translation>
  </message>
  <message>
   <source>What the organiser cannot do</source>
   <translation>Was die Leitung nicht kann</translation>
  </message>
  <message>
   <source>When</source>
   <translation>Wann</translation>
  </message>
  <message>
   <source>When I &amp;log in starts</source>
   <translation>Beim Anmelden sta&amp;rtet</translation>
  </message>
  <message>
   <source>When it computes</source>
   <translation>Wann er rechnet</translation>
  </message>
  <message>
   <source>When it ran</source>
   <translation>Wann es lief</translation>
  </message>
  <message>
   <source>When the window c&amp;loses</source>
   <translation>Beim &amp;Schließen des Fensters</translation>
  </message>
  <message>
   <source>Where its text comes from</source>
   <translation>Woher der Text kommt</translation>
  </message>
  <message>
   <source>Which of it</source>
   <translation>Was davon</translation>
  </message>
  <message>
   <source>While somebody uses this computer</source>
   <translation>Während der Rechner benutzt wird</translation>
  </message>
  <message>
   <source>Who decides</source>
   <translation>Wer entscheidet</translation>
  </message>
  <message>
   <source>Who is here</source>
   <translation>Wer da ist</translation>
  </message>
  <message>
   <source>Who lets people in</source>
   <translation>Verwaltet von</translation>
  </message>
  <message>
   <source>Who may take part</source>
   <translation>Wer mitmachen darf</translation>
  </message>
  <message>
   <source>Why: {words}</source>
   <translation>Warum: {words}</translation>
  </message>
  <message>
   <source>With no hour left, Potluck would never work.</source>
   <translation>Ohne eine einzige Stunde würde Potluck nie arbeiten.</translation>
  </message>
  <message>
   <source>With {0} a month this computer could not take part.</source>
   <translation>Mit {0} im Monat könnte dieser Rechner nicht mitmachen.</translation>
  </message>
  <message>
   <source>With {0} this computer could not stay in touch with the others.</source>
   <translation>Mit {0} bliebe dieser Rechner mit den anderen nicht in Verbindung.</translation>
  </message>
  <message>
   <source>Without its window Potluck goes on as it is. {place} When you quit, nothing is computed any more.

Your answer is remembered. You can change it in the menu Potluck, When the window closes.</source>
   <translation>Ohne Fenster macht Potluck weiter wie jetzt. {place} Nach dem Beenden wird nichts mehr gerechnet.

Die Antwort gilt auch künftig. Ändern lässt sie sich im Menü Potluck, Beim Schließen des Fensters.</translation>
  </message>
  <message>
   <source>Without one, use the command line: potluck demo --headless</source>
   <translation>Ohne ihn geht die Befehlszeile: potluck demo --headless</translation>
  </message>
  <message>
   <source>Words for blank {number}</source>
   <translation>Wörter für Lücke {number}</translation>
  </message>
  <message>
   <source>Write a sentence first, with ___ for a word that is missing.</source>
   <translation>Bitte erst einen Satz schreiben, mit ___ für ein fehlendes Wort.</translation>
  </message>
  <message>
   <source>Write a sentence, with ___ for a word that is missing</source>
   <translation>Einen Satz schreiben, mit ___ für ein fehlendes Wort</translation>
  </message>
  <message>
   <source>You and this computer</source>
   <translation>Name und Zeiten</translation>
  </message>
  <message>
   <source>You are not on the leaderboard yet: it counts what has become part of the model.</source>
   <translation>Noch nicht auf der Rangliste: Sie zählt, was Teil des Modells geworden ist.</translation>
  </message>
  <message>
   <source>You are number {rank} of {all}.</source>
   <translation>Platz {rank} von {all}.</translation>
  </message>
  <message>
   <source>You have left {0}. What you gave stays in its model. Its files stay in {1}; delete that folder if you need the room.</source>
   <translation>Sie haben {0} verlassen. Was Sie gegeben haben, bleibt im Modell. Die Dateien bleiben in {1}; löschen Sie den Ordner, wenn Sie den Platz brauchen.</translation>
  </message>
  <message>
   <source>You have left {collaboration}. What you gave stays in its model.</source>
   <translation>Sie haben {collaboration} verlassen. Was Sie gegeben haben, bleibt im Modell.</translation>
  </message>
  <message>
   <source>You switched the graphics card off for Potluck, and training runs on it.</source>
   <translation>Die Grafikkarte ist für Potluck abgeschaltet, und auf ihr läuft das Training.</translation>
  </message>
  <message>
   <source>You switched the graphics card off for Potluck, and training runs on it. Potluck continues {moment}.</source>
   <translation>Die Grafikkarte ist für Potluck abgeschaltet, und auf ihr läuft das Training. Potluck macht {moment} weiter.</translation>
  </message>
  <message>
   <source>You switched the network off for Potluck: nobody would get what is trained, so nothing is.</source>
   <translation>Das Netzwerk ist für Potluck abgeschaltet: Niemand bekäme, was trainiert wird, also wird nichts trainiert.</translation>
  </message>
  <message>
   <source>You switched the network off for Potluck: nobody would get what is trained, so nothing is. Potluck continues {moment}.</source>
   <translation>Das Netzwerk ist für Potluck abgeschaltet: Niemand bekäme, was trainiert wird, also wird nichts trainiert. Potluck macht {moment} weiter.</translation>
  </message>
  <message>
   <source>You take part in {0}.</source>
   <translation>Dieser Rechner macht bei {0} mit.</translation>
  </message>
  <message>
   <source>You take part in {name}.</source>
   <translation>Dieser Rechner macht jetzt mit bei {name}.</translation>
  </message>
  <message>
   <source>Your gift today</source>
   <translation>Der Beitrag von heute</translation>
  </message>
  <message>
   <source>Your name</source>
   <translation>Name</translation>
  </message>
  <message>
   <source>Your system does not tell what the grey rules need: they would stop nothing.</source>
   <translation>Was die grauen Regeln brauchen, verrät dieses System nicht: Sie würden nichts anhalten.</translation>
  </message>
  <message>
   <source>Your upload limit of {limit} makes everybody's steps longer, about {longer} s instead of {shorter} s: the others wait until this computer has sent its part. You can raise it in the settings.</source>
   <translation>Die eigene Grenze von {limit} fürs Hochladen verlängert die Schritte aller auf etwa {longer} s statt {shorter} s: Die anderen warten, bis dieser Rechner seinen Teil gesendet hat. In den Einstellungen lässt sie sich erhöhen.</translation>
  </message>
  <message>
   <source>ahead of</source>
   <translation>vor</translation>
  </message>
  <message>
   <source>alone for now</source>
   <translation>vorerst allein</translation>
  </message>
  <message>
   <source>as the system calls this computer</source>
   <translation>wie dieser Rechner im System heißt</translation>
  </message>
  <message>
   <source>as the system says</source>
   <translation>wie das System sagt</translation>
  </message>
  <message>
   <source>at {clock}</source>
   <translation>um {clock} Uhr</translation>
  </message>
  <message>
   <source>averaged {numbers} numbers for everybody in {rounds} rounds</source>
   <translation>mittelte in {rounds} Runden {numbers} Zahlen für alle</translation>
  </message>
  <message>
   <source>behind</source>
   <translation>hinter</translation>
  </message>
  <message>
   <source>blanks</source>
   <translation>Lücken</translation>
  </message>
  <message>
   <source>by Wi-Fi</source>
   <translation>per WLAN</translation>
  </message>
  <message>
   <source>by cable</source>
   <translation>per Kabel</translation>
  </message>
  <message>
   <source>by mobile radio</source>
   <translation>per Mobilfunk</translation>
  </message>
  <message>
   <source>called, some time ago,</source>
   <translation>haben vor einiger Zeit</translation>
  </message>
  <message>
   <source>cannot be reached; Potluck looks for it from time to time</source>
   <translation>ist nicht zu erreichen; Potluck sieht von Zeit zu Zeit danach</translation>
  </message>
  <message>
   <source>cents</source>
   <translation>Cent</translation>
  </message>
  <message>
   <source>does not answer</source>
   <translation>antwortet nicht</translation>
  </message>
  <message>
   <source>does not let this computer take part</source>
   <translation>lässt diesen Rechner nicht mitmachen</translation>
  </message>
  <message>
   <source>for a kilowatt-hour</source>
   <translation>für eine Kilowattstunde</translation>
  </message>
  <message>
   <source>for text that is read on the way, and pieces of it that are kept for others</source>
   <translation>für Text, der unterwegs gelesen wird, und Stücke davon, die für andere aufgehoben werden</translation>
  </message>
  <message>
   <source>go back to the model of epoch {count}</source>
   <translation>zurück zum Modell der Epoche {count}</translation>
  </message>
  <message>
   <source>has come to its end</source>
   <translation>ist zu Ende</translation>
  </message>
  <message>
   <source>have called</source>
   <translation>haben</translation>
  </message>
  <message>
   <source>have {count} of them agree</source>
   <translation>{count} von ihnen müssen zustimmen</translation>
  </message>
  <message>
   <source>how collaborations that you join from now on call this computer</source>
   <translation>so nennen ihn Projekte, denen er von jetzt an beitritt</translation>
  </message>
  <message>
   <source>in a way not known</source>
   <translation>auf unbekannte Weise</translation>
  </message>
  <message>
   <source>in the processor, or in the card that computes</source>
   <translation>im Prozessor oder in der Karte, die rechnet</translation>
  </message>
  <message>
   <source>is not usable</source>
   <translation>ist nicht brauchbar</translation>
  </message>
  <message>
   <source>is used by another program</source>
   <translation>wird von einem anderen Programm benutzt</translation>
  </message>
  <message>
   <source>its founder</source>
   <translation>wer es gegründet hat</translation>
  </message>
  <message>
   <source>let newcomers in by invitations again</source>
   <translation>Neue kommen wieder mit Einladung herein</translation>
  </message>
  <message>
   <source>let nobody new in</source>
   <translation>niemand Neues kommt herein</translation>
  </message>
  <message>
   <source>let {name} in again</source>
   <translation>{name} wieder hereinlassen</translation>
  </message>
  <message>
   <source>letter frequencies</source>
   <translation>Buchstabenhäufigkeiten</translation>
  </message>
  <message>
   <source>letters</source>
   <translation>Buchstaben</translation>
  </message>
  <message>
   <source>loss{unit} by epoch; lower is better</source>
   <translation>Verlust{unit}; weniger ist besser</translation>
  </message>
  <message>
   <source>make {name} a moderator</source>
   <translation>{name} wird Moderator</translation>
  </message>
  <message>
   <source>min</source>
   <translation>min</translation>
  </message>
  <message>
   <source>more is drawn while this computer contributes</source>
   <translation>mehr nimmt dieser Rechner beim Mitrechnen auf</translation>
  </message>
  <message>
   <source>nats</source>
   <translation>nat</translation>
  </message>
  <message>
   <source>no contribution arrived</source>
   <translation>es kam kein Beitrag an</translation>
  </message>
  <message>
   <source>no key, no touch, no movement of the mouse</source>
   <translation>keine Taste, keine Berührung, keine Bewegung der Maus</translation>
  </message>
  <message>
   <source>no member is left to coordinate the round</source>
   <translation>niemand ist übrig, der die Runde koordiniert</translation>
  </message>
  <message>
   <source>no plan came</source>
   <translation>es kam kein Plan</translation>
  </message>
  <message>
   <source>nobody here yet</source>
   <translation>noch niemand da</translation>
  </message>
  <message>
   <source>of its time</source>
   <translation>ihrer Zeit</translation>
  </message>
  <message>
   <source>of the battery's charge, where Potluck may run on it</source>
   <translation>der Akkuladung, wo Potluck mit Akku laufen darf</translation>
  </message>
  <message>
   <source>of the computer, not of a graphics card</source>
   <translation>des Rechners, nicht einer Grafikkarte</translation>
  </message>
  <message>
   <source>of the processor</source>
   <translation>des Prozessors</translation>
  </message>
  <message>
   <source>of the time</source>
   <translation>der Zeit</translation>
  </message>
  <message>
   <source>of the time; less keeps the computer cool and quiet</source>
   <translation>der Zeit; weniger hält den Rechner kühl und leise</translation>
  </message>
  <message>
   <source>of your money for a kilowatt-hour; My gift shows what yours comes to</source>
   <translation>der eigenen Währung für eine Kilowattstunde; „Mein Beitrag“ zeigt die Summe</translation>
  </message>
  <message>
   <source>on {day} at {clock}</source>
   <translation>am {day} um {clock} Uhr</translation>
  </message>
  <message>
   <source>passed on {size} for computers that cannot be called</source>
   <translation>leitete {size} für Rechner weiter, die sich nicht anrufen lassen</translation>
  </message>
  <message>
   <source>power</source>
   <translation>Strom</translation>
  </message>
  <message>
   <source>processor</source>
   <translation>Prozessor</translation>
  </message>
  <message>
   <source>programs that fill the screen</source>
   <translation>Programme, die den Bildschirm füllen</translation>
  </message>
  <message>
   <source>reading {name}</source>
   <translation>liest {name}</translation>
  </message>
  <message>
   <source>remote desktop</source>
   <translation>Fernzugriff</translation>
  </message>
  <message>
   <source>share</source>
   <translation>Anteil</translation>
  </message>
  <message>
   <source>shut out {name}</source>
   <translation>{name} ausschließen</translation>
  </message>
  <message>
   <source>take {name} from the moderators</source>
   <translation>{name} ist kein Moderator mehr</translation>
  </message>
  <message>
   <source>taken by the processor, or by the card that computes</source>
   <translation>Leistung des Prozessors oder der Karte, die rechnet</translation>
  </message>
  <message>
   <source>tell everybody: {words}</source>
   <translation>allen sagen: {words}</translation>
  </message>
  <message>
   <source>the backbone and other volunteers</source>
   <translation>das Backbone und andere Freiwillige</translation>
  </message>
  <message>
   <source>the battery</source>
   <translation>der Akku</translation>
  </message>
  <message>
   <source>the beginning</source>
   <translation>dem Anfang</translation>
  </message>
  <message>
   <source>the contributions together have too few samples</source>
   <translation>die Beiträge haben zusammen zu wenige Beispiele</translation>
  </message>
  <message>
   <source>the coordinator has committed another mean than this computer holds</source>
   <translation>der Koordinator hat einen anderen Mittelwert festgelegt, als dieser Rechner hat</translation>
  </message>
  <message>
   <source>the documentation that came with Python</source>
   <translation>die Dokumentation, die mit Python kam</translation>
  </message>
  <message>
   <source>the last key or touch</source>
   <translation>die letzte Taste oder Berührung</translation>
  </message>
  <message>
   <source>the leader cancelled it</source>
   <translation>der leitende Rechner sagte sie ab</translation>
  </message>
  <message>
   <source>the leader was lost</source>
   <translation>der leitende Rechner ging verloren</translation>
  </message>
  <message>
   <source>the letter before</source>
   <translation>der Buchstabe davor</translation>
  </message>
  <message>
   <source>the others</source>
   <translation>die anderen</translation>
  </message>
  <message>
   <source>the others are in another round</source>
   <translation>die anderen sind in einer anderen Runde</translation>
  </message>
  <message>
   <source>the others finished the round without this computer</source>
   <translation>die anderen beendeten die Runde ohne diesen Rechner</translation>
  </message>
  <message>
   <source>the others went on without this computer</source>
   <translation>die anderen machten ohne diesen Rechner weiter</translation>
  </message>
  <message>
   <source>the processor's heat</source>
   <translation>die Wärme des Prozessors</translation>
  </message>
  <message>
   <source>the round's time is over</source>
   <translation>die Zeit der Runde ist um</translation>
  </message>
  <message>
   <source>the state has changed</source>
   <translation>der Stand hat sich geändert</translation>
  </message>
  <message>
   <source>the word before</source>
   <translation>das Wort davor</translation>
  </message>
  <message>
   <source>this computer</source>
   <translation>dieser Rechner</translation>
  </message>
  <message>
   <source>this computer left the round</source>
   <translation>dieser Rechner hat die Runde verlassen</translation>
  </message>
  <message>
   <source>this computer's own contribution came too late</source>
   <translation>der eigene Beitrag dieses Rechners kam zu spät</translation>
  </message>
  <message>
   <source>through a router</source>
   <translation>durch einen Router</translation>
  </message>
  <message>
   <source>today</source>
   <translation>heute</translation>
  </message>
  <message>
   <source>together with one other</source>
   <translation>zusammen mit einem anderen</translation>
  </message>
  <message>
   <source>together with {others} others</source>
   <translation>zusammen mit {others} anderen</translation>
  </message>
  <message>
   <source>too few contributions are left</source>
   <translation>zu wenige Beiträge sind übrig</translation>
  </message>
  <message>
   <source>too few members are left</source>
   <translation>zu wenige sind übrig</translation>
  </message>
  <message>
   <source>traffic a day</source>
   <translation>Daten am Tag</translation>
  </message>
  <message>
   <source>what is received</source>
   <translation>was empfangen wird</translation>
  </message>
  <message>
   <source>what is sent</source>
   <translation>was gesendet wird</translation>
  </message>
  <message>
   <source>where others call this computer</source>
   <translation>wo andere diesen Rechner anrufen</translation>
  </message>
  <message>
   <source>while it rests, to go on at once; after that it is given back</source>
   <translation>während es ruht, um sofort weiterzumachen; danach wird er freigegeben</translation>
  </message>
  <message>
   <source>with no router in sight</source>
   <translation>ohne sichtbaren Router</translation>
  </message>
  <message>
   <source>with other hours</source>
   <translation>mit anderen Zeiten</translation>
  </message>
  <message>
   <source>word frequencies</source>
   <translation>Worthäufigkeiten</translation>
  </message>
  <message>
   <source>{0} GB are free where Potluck keeps its things ({1}).</source>
   <translation>{0} GB sind frei, wo Potluck seine Dateien hat ({1}).</translation>
  </message>
  <message>
   <source>{0} It is asked again.</source>
   <translation>{0} Es wird noch einmal gefragt.</translation>
  </message>
  <message>
   <source>{0} It is not metered.</source>
   <translation>{0} Sie kostet nicht nach Menge.</translation>
  </message>
  <message>
   <source>{0} The file was kept as {1}.</source>
   <translation>{0} Die Datei wurde als {1} aufgehoben.</translation>
  </message>
  <message>
   <source>{0} The system says that this connection is metered.</source>
   <translation>{0} Das System sagt, dass die Verbindung nach Menge kostet.</translation>
  </message>
  <message>
   <source>{0} This time port {1} is used for other peers.</source>
   <translation>{0} Diesmal dient Port {1} für die anderen.</translation>
  </message>
  <message>
   <source>{0} Volunteers with IPv6 reach it directly.</source>
   <translation>{0} Wer IPv6 hat, erreicht ihn direkt.</translation>
  </message>
  <message>
   <source>{0} comes after the times.</source>
   <translation>{0} steht hinter den Zeiten.</translation>
  </message>
  <message>
   <source>{0} comes first now.</source>
   <translation>{0} hat jetzt Vorrang.</translation>
  </message>
  <message>
   <source>{0} could not be read: {1}.</source>
   <translation>{0} konnte nicht gelesen werden: {1}.</translation>
  </message>
  <message>
   <source>{0} could not be written: {1}.</source>
   <translation>{0} konnte nicht geschrieben werden: {1}.</translation>
  </message>
  <message>
   <source>{0} does not say from when to when.</source>
   <translation>{0} sagt nicht, von wann bis wann.</translation>
  </message>
  <message>
   <source>{0} has come to its end; there is nothing left to compute.</source>
   <translation>{0} ist zu Ende; es gibt nichts mehr zu rechnen.</translation>
  </message>
  <message>
   <source>{0} has refused this computer: {1} It is asked again.</source>
   <translation>{0} hat diesen Computer abgewiesen: {1} Es wird noch einmal gefragt.</translation>
  </message>
  <message>
   <source>{0} holds shards that were cut earlier, and other files, such as {1}.</source>
   <translation>{0} enthält Stücke von früher und andere Dateien, zum Beispiel {1}.</translation>
  </message>
  <message>
   <source>{0} is neither a day nor times of a day.</source>
   <translation>{0} ist weder ein Tag noch Zeiten eines Tages.</translation>
  </message>
  <message>
   <source>{0} is not a valid name of a program.</source>
   <translation>{0} ist kein gültiger Name eines Programms.</translation>
  </message>
  <message>
   <source>{0} tells of itself.</source>
   <translation>{0} gibt Auskunft über sich.</translation>
  </message>
  <message>
   <source>{all} samples a second together, {mine} of them on this computer</source>
   <translation>zusammen {all} Beispiele in der Sekunde, davon {mine} auf diesem Rechner</translation>
  </message>
  <message>
   <source>{author} proposes: {changes}.</source>
   <translation>{author} schlägt vor: {changes}.</translation>
  </message>
  <message>
   <source>{collaboration} goes on by itself when it does.</source>
   <translation>{collaboration} geht von selbst weiter, sobald er antwortet.</translation>
  </message>
  <message>
   <source>{count} computers are shut out.</source>
   <translation>{count} Computer sind ausgeschlossen.</translation>
  </message>
  <message>
   <source>{days} days in a row</source>
   <translation>{days} Tage in Folge</translation>
  </message>
  <message>
   <source>{day} {month} {clock}</source>
   <translation>{day}. {month} {clock}</translation>
  </message>
  <message>
   <source>{day}, {start} to {end}: {state}</source>
   <translation>{day}, {start} bis {end}: {state}</translation>
  </message>
  <message>
   <source>{duration} on {active} of {days} days</source>
   <translation>{duration} an {active} von {days} Tagen</translation>
  </message>
  <message>
   <source>{hosts}, about {size} a day</source>
   <translation>{hosts}, etwa {size} am Tag</translation>
  </message>
  <message>
   <source>{host}, where the text is, answers with something else than was asked for. It is asked again in {seconds} s.</source>
   <translation>{host}, wo der Text liegt, antwortet mit etwas anderem als gefragt. In {seconds} s wird wieder gefragt.</translation>
  </message>
  <message>
   <source>{host}, where the text is, does not answer. It is asked again in {seconds} s.</source>
   <translation>{host}, wo der Text liegt, antwortet nicht. In {seconds} s wird wieder gefragt.</translation>
  </message>
  <message>
   <source>{host}, where the text is, does not answer; {rows} samples are ready.</source>
   <translation>{host}, wo der Text liegt, antwortet nicht; {rows} Beispiele liegen bereit.</translation>
  </message>
  <message>
   <source>{kilos} kg of carbon dioxide</source>
   <translation>{kilos} kg Kohlendioxid</translation>
  </message>
  <message>
   <source>{left} cannot be reached; Potluck goes on with {served}.</source>
   <translation>{left} ist nicht zu erreichen; Potluck macht mit {served} weiter.</translation>
  </message>
  <message>
   <source>{left} does not let this computer take part: {reason} Potluck goes on with {served}.</source>
   <translation>{left} lässt diesen Rechner nicht mitmachen: {reason} Potluck macht mit {served} weiter.</translation>
  </message>
  <message>
   <source>{left} has come to its end; Potluck goes on with {served}.</source>
   <translation>{left} ist am Ziel; Potluck macht mit {served} weiter.</translation>
  </message>
  <message>
   <source>{mine} samples from this computer wait until others are there again.</source>
   <translation>{mine} Beispiele von diesem Rechner warten, bis wieder andere da sind.</translation>
  </message>
  <message>
   <source>{money} in your money</source>
   <translation>{money} in Ihrer Währung</translation>
  </message>
  <message>
   <source>{names} decides alone who is shut out, and whether everybody goes back to an earlier model.</source>
   <translation>{names} entscheidet allein, wer ausgeschlossen wird und ob alle zu einem früheren Modell zurückgehen.</translation>
  </message>
  <message>
   <source>{names}: each of them decides alone.</source>
   <translation>{names}: Jeder von ihnen entscheidet allein.</translation>
  </message>
  <message>
   <source>{names}: {count} of them have to agree.</source>
   <translation>{names}: {count} von ihnen müssen zustimmen.</translation>
  </message>
  <message>
   <source>{name} (comes first)</source>
   <translation>{name} (hat Vorrang)</translation>
  </message>
  <message>
   <source>{name} (now)</source>
   <translation>{name} (jetzt)</translation>
  </message>
  <message>
   <source>{name} (shut out)</source>
   <translation>{name} (ausgeschlossen)</translation>
  </message>
  <message>
   <source>{name} (you)</source>
   <translation>{name} (hier)</translation>
  </message>
  <message>
   <source>{name} alone: {loss}</source>
   <translation>{name} allein: {loss}</translation>
  </message>
  <message>
   <source>{name} is held until {until}.</source>
   <translation>{name} bleibt bis {until} draußen.</translation>
  </message>
  <message>
   <source>{name} is held until {until}: {words}</source>
   <translation>{name} bleibt bis {until} draußen: {words}</translation>
  </message>
  <message>
   <source>{name} is {samples} behind.</source>
   <translation>{name} liegt {samples} dahinter.</translation>
  </message>
  <message>
   <source>{name} {day} {month}</source>
   <translation>{name} {day}. {month}</translation>
  </message>
  <message>
   <source>{name} {reason}.</source>
   <translation>{name} {reason}.</translation>
  </message>
  <message>
   <source>{name}, organised by {organiser}</source>
   <translation>{name}, Leitung: {organiser}</translation>
  </message>
  <message>
   <source>{name}, peer {peer}, {epochs} epochs</source>
   <translation>{name}, Kennung {peer}, {epochs} Epochen</translation>
  </message>
  <message>
   <source>{name}, {role}, peer {peer}, at epoch {epoch}, {samples} samples in this one</source>
   <translation>{name}, {role}, Kennung {peer}, in Epoche {epoch}, darin {samples} Beispiele</translation>
  </message>
  <message>
   <source>{number} M</source>
   <translation>{number} Mio.</translation>
  </message>
  <message>
   <source>{number} always on</source>
   <translation>{number} immer da</translation>
  </message>
  <message>
   <source>{number} computers now</source>
   <translation>Jetzt {number} Rechner</translation>
  </message>
  <message>
   <source>{number} of 100</source>
   <translation>{number} von 100</translation>
  </message>
  <message>
   <source>{number} of {all} checks found something that has to be mended.</source>
   <translation>{number} von {all} Prüfungen fanden etwas, das zu beheben ist.</translation>
  </message>
  <message>
   <source>{number} volunteers here</source>
   <translation>{number} wirken mit</translation>
  </message>
  <message>
   <source>{organiser}'s computer</source>
   <translation>Der Rechner von {organiser}</translation>
  </message>
  <message>
   <source>{organiser}'s computer ({where})</source>
   <translation>Der Rechner von {organiser} ({where})</translation>
  </message>
  <message>
   <source>{right} {guesses} right at epoch {epoch}</source>
   <translation>{right} {guesses} richtig in Epoche {epoch}</translation>
  </message>
  <message>
   <source>{rows} samples lie ready</source>
   <translation>{rows} Beispiele liegen bereit</translation>
  </message>
  <message>
   <source>{said}, not: {meant}</source>
   <translation>{said}, nicht: {meant}</translation>
  </message>
  <message>
   <source>{said}. That is too little.</source>
   <translation>{said}. Das ist zu wenig.</translation>
  </message>
  <message>
   <source>{samples} more are computed and wait for the next round.</source>
   <translation>{samples} weitere sind gerechnet und warten auf die nächste Runde.</translation>
  </message>
  <message>
   <source>{samples} of {target} samples for the model's next step, {mine} from this computer</source>
   <translation>{samples} von {target} Beispielen für den nächsten Schritt des Modells, {mine} von diesem Rechner</translation>
  </message>
  <message>
   <source>{samples} samples more to reach {name}.</source>
   <translation>Noch {samples} Beispiele bis {name}.</translation>
  </message>
  <message>
   <source>{samples} samples went into steps of the model.</source>
   <translation>{samples} Beispiele gingen in Schritte des Modells ein.</translation>
  </message>
  <message>
   <source>{sent} sent, {received} received.</source>
   <translation>{sent} gesendet, {received} empfangen.</translation>
  </message>
  <message>
   <source>{served} can be reached again; Potluck goes back to it from {left}.</source>
   <translation>{served} ist wieder zu erreichen; Potluck kehrt von {left} dorthin zurück.</translation>
  </message>
  <message>
   <source>{share} from {source}</source>
   <translation>{share} von {source}</translation>
  </message>
  <message>
   <source>{share} of this collaboration</source>
   <translation>{share} dieses Projekts</translation>
  </message>
  <message>
   <source>{size} a day</source>
   <translation>{size} am Tag</translation>
  </message>
  <message>
   <source>{size} a second</source>
   <translation>{size} in der Sekunde</translation>
  </message>
  <message>
   <source>{size} are free</source>
   <translation>{size} sind frei</translation>
  </message>
  <message>
   <source>{size} here for training</source>
   <translation>{size} hier fürs Training</translation>
  </message>
  <message>
   <source>{size} in this computer</source>
   <translation>{size} in diesem Rechner</translation>
  </message>
  <message>
   <source>{size} kept for others, {given} given to them</source>
   <translation>{size} für andere aufgehoben, {given} an sie gegeben</translation>
  </message>
  <message>
   <source>{size} of files, then the model from other volunteers; numbers only, no programs</source>
   <translation>{size} an Dateien, dann das Modell von anderen Mitwirkenden; nur Zahlen, keine Programme</translation>
  </message>
  <message>
   <source>{stalled} Training goes on with what is here.</source>
   <translation>{stalled} Das Training geht mit dem weiter, was hier ist.</translation>
  </message>
  <message>
   <source>{threads} of {cores} processor threads, at low priority{cards}</source>
   <translation>{threads} von {cores} Prozessor-Threads, mit geringem Vorrang{cards}</translation>
  </message>
  <message>
   <source>{title}: {first} at epoch {first_epoch}, {last} at epoch {last_epoch}.</source>
   <translation>{title}: {first} in Epoche {first_epoch}, {last} in Epoche {last_epoch}.</translation>
  </message>
  <message>
   <source>{used} of {all}</source>
   <translation>{used} von {all}</translation>
  </message>
  <message>
   <source>{used} used by Potluck; {free} free</source>
   <translation>{used} belegt von Potluck; {free} frei</translation>
  </message>
  <message>
   <source>{used} used by Potluck; {free} of {all} free</source>
   <translation>{used} belegt von Potluck; {free} von {all} frei</translation>
  </message>
  <message>
   <source>{used} used so far</source>
   <translation>bisher {used} verbraucht</translation>
  </message>
  <message>
   <source>{watts} W while it computes</source>
   <translation>{watts} W beim Rechnen</translation>
  </message>
  <message>
   <source>{whose} does not answer and this computer's pass has ended: it trains alone, and its work may not be kept.</source>
   <translation>{whose} antwortet nicht, und der Pass dieses Rechners ist abgelaufen: Er trainiert allein, und seine Arbeit geht vielleicht verloren.</translation>
  </message>
  <message>
   <source>{whose} does not answer, nor does any other: this computer trains alone, and its work may not be kept.</source>
   <translation>{whose} antwortet nicht, und auch sonst keiner: Dieser Rechner trainiert allein, und seine Arbeit geht vielleicht verloren.</translation>
  </message>
  <message>
   <source>{whose} does not answer.</source>
   <translation>{whose} antwortet nicht.</translation>
  </message>
  <message>
   <source>{whose} does not answer: this computer has no network.</source>
   <translation>{whose} antwortet nicht: Dieser Rechner hat kein Netz.</translation>
  </message>
  <message>
   <source>{whose} is not ready yet: {why}</source>
   <translation>{whose} ist noch nicht bereit: {why}</translation>
  </message>
  <message>
   <source>{why} It is asked again.</source>
   <translation>{why} Es wird noch einmal gefragt.</translation>
  </message>
 </context>
</TS>
