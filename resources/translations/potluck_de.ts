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
   <source>&amp;Anybody: I make the link public</source>
   <translation>&amp;Alle: Ich veröffentliche den Link</translation>
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
   <source>&amp;Close</source>
   <translation>&amp;Schließen</translation>
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
   <source>&amp;Copied</source>
   <translation>&amp;Kopiert</translation>
  </message>
  <message>
   <source>&amp;Copy</source>
   <translation>&amp;Kopieren</translation>
  </message>
  <message>
   <source>&amp;Copy the text</source>
   <translation>Text &amp;kopieren</translation>
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
   <source>&amp;Done</source>
   <translation>Fer&amp;tig</translation>
  </message>
  <message>
   <source>&amp;Download</source>
   <translation>H&amp;erunterladen</translation>
  </message>
  <message>
   <source>&amp;End it</source>
   <translation>&amp;Beenden</translation>
  </message>
  <message>
   <source>&amp;Fill in missing words</source>
   <translation>&amp;Fehlende Wörter ergänzen</translation>
  </message>
  <message>
   <source>&amp;Friends, to whom I send the link</source>
   <translation>&amp;Freunde, denen ich den Link schicke</translation>
  </message>
  <message>
   <source>&amp;Get it</source>
   <translation>&amp;Holen</translation>
  </message>
  <message>
   <source>&amp;Get it again</source>
   <translation>&amp;Neu holen</translation>
  </message>
  <message>
   <source>&amp;Get {version}</source>
   <translation>{version} &amp;holen</translation>
  </message>
  <message>
   <source>&amp;Go on</source>
   <translation>&amp;Weitermachen</translation>
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
   <source>&amp;Invite somebody…</source>
   <translation>Jemanden ein&amp;laden…</translation>
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
   <source>&amp;Leave…</source>
   <translation>&amp;Verlassen…</translation>
  </message>
  <message>
   <source>&amp;Light</source>
   <translation>&amp;Hell</translation>
  </message>
  <message>
   <source>&amp;Look again</source>
   <translation>Noch einmal &amp;nachsehen</translation>
  </message>
  <message>
   <source>&amp;Look at it</source>
   <translation>An&amp;sehen</translation>
  </message>
  <message>
   <source>&amp;Look now</source>
   <translation>&amp;Jetzt nachsehen</translation>
  </message>
  <message>
   <source>&amp;Make the link</source>
   <translation>Link &amp;machen</translation>
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
   <source>&amp;Newer versions…</source>
   <translation>&amp;Neuere Versionen…</translation>
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
   <source>&amp;Not now</source>
   <translation>&amp;Jetzt nicht</translation>
  </message>
  <message>
   <source>&amp;Open Potluck</source>
   <translation>Potluck öff&amp;nen</translation>
  </message>
  <message>
   <source>&amp;Open the list</source>
   <translation>Liste öff&amp;nen</translation>
  </message>
  <message>
   <source>&amp;Paste</source>
   <translation>Einf&amp;ügen</translation>
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
   <source>&amp;Quiet</source>
   <translation>San&amp;ft</translation>
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
   <source>&amp;Remove Potluck…</source>
   <translation>Potluck &amp;entfernen…</translation>
  </message>
  <message>
   <source>&amp;Remove it</source>
   <translation>&amp;Entfernen</translation>
  </message>
  <message>
   <source>&amp;Remove it…</source>
   <translation>&amp;Entfernen…</translation>
  </message>
  <message>
   <source>&amp;Restart with {version}</source>
   <translation>Mit {version} &amp;neu starten</translation>
  </message>
  <message>
   <source>&amp;Save</source>
   <translation>&amp;Speichern</translation>
  </message>
  <message>
   <source>&amp;Save the model…</source>
   <translation>Modell &amp;speichern…</translation>
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
   <source>&amp;Start it</source>
   <translation>&amp;Gründen</translation>
  </message>
  <message>
   <source>&amp;Start one…</source>
   <translation>&amp;Gründen…</translation>
  </message>
  <message>
   <source>&amp;Stop</source>
   <translation>&amp;Abbrechen</translation>
  </message>
  <message>
   <source>&amp;Stop it</source>
   <translation>&amp;Anhalten</translation>
  </message>
  <message>
   <source>&amp;Test the port</source>
   <translation>Port p&amp;rüfen</translation>
  </message>
  <message>
   <source>&amp;Threads of the processor</source>
   <translation>Stränge des Pr&amp;ozessors</translation>
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
   <source>&amp;Update Potluck…</source>
   <translation>Potluck akt&amp;ualisieren…</translation>
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
   <source>&amp;Write letter by letter</source>
   <translation>Buchstabe für Buchstabe s&amp;chreiben</translation>
  </message>
  <message>
   <source>&amp;Your name</source>
   <translation>Na&amp;me</translation>
  </message>
  <message>
   <source>(space)</source>
   <translation>(Leerzeichen)</translation>
  </message>
  <message>
   <source>, {done} of {total} pieces are here</source>
   <translation>, {done} von {total} Stücken sind da</translation>
  </message>
  <message>
   <source>--filter {words} has no value.</source>
   <translation>--filter {words} hat keinen Wert.</translation>
  </message>
  <message>
   <source>--go-on takes recipe, text and model from the collaboration.</source>
   <translation>--go-on nimmt Rezept, Text und Modell aus dem Projekt.</translation>
  </message>
  <message>
   <source>--mirror: {error}</source>
   <translation>--mirror: {error}</translation>
  </message>
  <message>
   <source>--set {words} sets nothing.</source>
   <translation>--set {words} setzt nichts.</translation>
  </message>
  <message>
   <source>1 000 of the model's steps have your work in them.</source>
   <translation>In 1 000 Schritten des Modells steckt Arbeit dieses Rechners.</translation>
  </message>
  <message>
   <source>1 000 steps</source>
   <translation>1 000 Schritte</translation>
  </message>
  <message>
   <source>1 volunteer here</source>
   <translation>1 wirkt mit</translation>
  </message>
  <message>
   <source>10 of the model's steps have your work in them.</source>
   <translation>In 10 Schritten des Modells steckt Arbeit dieses Rechners.</translation>
  </message>
  <message>
   <source>10 steps</source>
   <translation>10 Schritte</translation>
  </message>
  <message>
   <source>100 of the model's steps have your work in them.</source>
   <translation>In 100 Schritten des Modells steckt Arbeit dieses Rechners.</translation>
  </message>
  <message>
   <source>100 steps</source>
   <translation>100 Schritte</translation>
  </message>
  <message>
   <source>12 million numbers: some hundred megabytes of text, and several computers that run for days.</source>
   <translation>12 Millionen Zahlen: einige hundert Megabyte Text und mehrere Rechner, die Tage laufen.</translation>
  </message>
  <message>
   <source>30 % of the time, less when it is warm; a card rests while you are there.</source>
   <translation>30 % der Zeit, weniger, wenn es warm ist; eine Karte ruht, solange jemand da ist.</translation>
  </message>
  <message>
   <source>; {name} alone {right}</source>
   <translation>; {name} allein {right}</translation>
  </message>
  <message>
   <source>A backbone runs on this charter already.</source>
   <translation>Mit diesem Projektordner läuft schon ein Stützpunkt.</translation>
  </message>
  <message>
   <source>A backbone stands in the list twice.</source>
   <translation>Ein Stützpunkt steht zweimal in der Liste.</translation>
  </message>
  <message>
   <source>A backup cannot lie in the folder that it is of.</source>
   <translation>Eine Sicherung kann nicht in dem Ordner liegen, den sie sichert.</translation>
  </message>
  <message>
   <source>A build for {device} would fit better, and this version does not know it.</source>
   <translation>Eine Fassung für {device} würde besser passen, und diese Version kennt sie nicht.</translation>
  </message>
  <message>
   <source>A card knows no priority: what is on the screen may stutter while it computes.</source>
   <translation>Eine Karte kennt keinen Vorrang: Während sie rechnet, ruckelt vielleicht der Bildschirm.</translation>
  </message>
  <message>
   <source>A copy of the model has {size_bytes} bytes: that is too much of the room that is left.</source>
   <translation>Eine Kopie des Modells hat {size_bytes} Byte: Das ist zu viel von dem Platz, der noch frei ist.</translation>
  </message>
  <message>
   <source>A damaged checkpoint was set aside as {name}. Training goes on from {where}.</source>
   <translation>Ein beschädigter Zwischenstand wurde als {name} beiseite gelegt. Das Training geht weiter ab {where}.</translation>
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
   <source>A document of another time.</source>
   <translation>Ein Dokument aus einer anderen Zeit.</translation>
  </message>
  <message>
   <source>A fan turned faster than {limit} times a minute. Potluck continues when it has become quieter.</source>
   <translation>Ein Lüfter drehte schneller als {limit} Mal in der Minute. Potluck macht weiter, wenn er leiser geworden ist.</translation>
  </message>
  <message>
   <source>A file is where a folder has to be: name another folder.</source>
   <translation>Wo ein Ordner sein muss, ist eine Datei: einen anderen Ordner nennen.</translation>
  </message>
  <message>
   <source>A file of the collaboration is not what its manifest names.</source>
   <translation>Eine Datei des Projekts ist nicht die, die sein Manifest nennt.</translation>
  </message>
  <message>
   <source>A file unfolds to more memory than any text needs.</source>
   <translation>Eine Datei entfaltet sich zu mehr Speicher, als irgendein Text braucht.</translation>
  </message>
  <message>
   <source>A folder of &amp;texts:</source>
   <translation>Ein Ordner mit &amp;Texten:</translation>
  </message>
  <message>
   <source>A folder that other programs load: weights, words and a page that says what it is.</source>
   <translation>Ein Ordner, den andere Programme laden: Gewichte, Wörter und eine Seite, die sagt, was es ist.</translation>
  </message>
  <message>
   <source>A folder with all parts of the model, which live on many computers, and how to load it.</source>
   <translation>Ein Ordner mit allen Teilen des Modells, die auf vielen Rechnern wohnen, und wie man es lädt.</translation>
  </message>
  <message>
   <source>A helper averages what others have trained.</source>
   <translation>Wer hilft, mittelt, was andere trainiert haben.</translation>
  </message>
  <message>
   <source>A hold lasts for 7 days at most.</source>
   <translation>Eine Sperre auf Zeit dauert höchstens 7 Tage.</translation>
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
   <source>A link has at most {most} addresses, not {count}.</source>
   <translation>Ein Link hat höchstens {most} Adressen, nicht {count}.</translation>
  </message>
  <message>
   <source>A link has at most {most} letters, not {count}.</source>
   <translation>Ein Link hat höchstens {most} Zeichen, nicht {count}.</translation>
  </message>
  <message>
   <source>A link lets others in without a name or a password.</source>
   <translation>Ein Link lässt andere ohne Namen und Passwort herein.</translation>
  </message>
  <message>
   <source>A link looks like potluck://host:port/0123…#invitation; copy the whole of it from the organiser.</source>
   <translation>Ein Link sieht so aus: potluck://rechner:port/0123…#einladung. Bitte den ganzen Link kopieren, wie er von der Leitung kam.</translation>
  </message>
  <message>
   <source>A list has at most 1 MB.</source>
   <translation>Eine Liste hat höchstens 1 MB.</translation>
  </message>
  <message>
   <source>A list of collaborations</source>
   <translation>Eine Liste von Projekten</translation>
  </message>
  <message>
   <source>A mean came that nobody had asked for.</source>
   <translation>Es kam ein Mittelwert, nach dem niemand gefragt hatte.</translation>
  </message>
  <message>
   <source>A mirror cannot lie in the folder of the collaboration.</source>
   <translation>Ein Spiegel kann nicht im Ordner des Projekts liegen.</translation>
  </message>
  <message>
   <source>A mixture of experts learns to write, letter by letter, as in the documentation that came with Python.</source>
   <translation>Ein Modell aus Experten lernt schreiben, Buchstabe für Buchstabe, wie in der Dokumentation, die mit Python kam.</translation>
  </message>
  <message>
   <source>A model for &amp;much text</source>
   <translation>Ein Modell für &amp;viel Text</translation>
  </message>
  <message>
   <source>A model with experts cannot be tried: they live on many computers.</source>
   <translation>Ein Modell mit Experten lässt sich nicht ausprobieren: Sie wohnen auf vielen Rechnern.</translation>
  </message>
  <message>
   <source>A moderator cannot be held.</source>
   <translation>Wer moderiert, kann nicht auf Zeit gesperrt werden.</translation>
  </message>
  <message>
   <source>A moderator has said no.</source>
   <translation>Die Moderation hat Nein gesagt.</translation>
  </message>
  <message>
   <source>A moderator keeps your account out for some days.</source>
   <translation>Die Moderation sperrt dieses Konto für einige Tage.</translation>
  </message>
  <message>
   <source>A moderator stands in the list twice.</source>
   <translation>Jemand steht zweimal in der Liste der Moderation.</translation>
  </message>
  <message>
   <source>A moderator's name cannot be shown.</source>
   <translation>Ein Name in der Moderation lässt sich nicht zeigen.</translation>
  </message>
  <message>
   <source>A moment…</source>
   <translation>Einen Augenblick…</translation>
  </message>
  <message>
   <source>A month ago this computer gave its time for the first time.</source>
   <translation>Vor einem Monat hat dieser Rechner zum ersten Mal mitgerechnet.</translation>
  </message>
  <message>
   <source>A name of its own</source>
   <translation>Ein eigener Name</translation>
  </message>
  <message>
   <source>A newer version of Potluck has made the database {place}.</source>
   <translation>Eine neuere Version von Potluck hat die Datenbank {place} angelegt.</translation>
  </message>
  <message>
   <source>A newer version of Potluck wrote the backup {file}.</source>
   <translation>Eine neuere Version von Potluck hat die Sicherung {file} geschrieben.</translation>
  </message>
  <message>
   <source>A newer version was looked for, and nothing was changed: {reason}</source>
   <translation>Nach einer neueren Version wurde gesehen und nichts geändert: {reason}</translation>
  </message>
  <message>
   <source>A number that your home says</source>
   <translation>Eine Zahl, die das eigene Haus sagt</translation>
  </message>
  <message>
   <source>A package names a file outside of its folder: {name}.</source>
   <translation>Ein Paket nennt eine Datei außerhalb seines Ordners: {name}.</translation>
  </message>
  <message>
   <source>A part of Potluck ended with code {code}.</source>
   <translation>Ein Teil von Potluck endete mit Code {code}.</translation>
  </message>
  <message>
   <source>A part of Potluck ended without an answer.</source>
   <translation>Ein Teil von Potluck endete ohne Antwort.</translation>
  </message>
  <message>
   <source>A pass has at most {most} bytes, not {count}.</source>
   <translation>Ein Ausweis hat höchstens {most} Byte, nicht {count}.</translation>
  </message>
  <message>
   <source>A pass is made with Ed25519 keys.</source>
   <translation>Ein Ausweis wird mit Ed25519-Schlüsseln gemacht.</translation>
  </message>
  <message>
   <source>A plan is made for one value of each key.</source>
   <translation>Ein Plan gilt für je einen Wert jedes Schlüssels.</translation>
  </message>
  <message>
   <source>A program fills the screen.</source>
   <translation>Ein Programm füllt den Bildschirm.</translation>
  </message>
  <message>
   <source>A program holds some files of the training part open.</source>
   <translation>Ein Programm hält Dateien des Trainingsteils offen.</translation>
  </message>
  <message>
   <source>A proposal that has ended.</source>
   <translation>Ein Vorschlag, der abgelaufen ist.</translation>
  </message>
  <message>
   <source>A proposal that its author has not signed.</source>
   <translation>Ein Vorschlag, den sein Verfasser nicht unterschrieben hat.</translation>
  </message>
  <message>
   <source>A router's own rule, if you make one, should lead TCP and UDP of this port here; none is needed.</source>
   <translation>Eine eigene Regel im Router sollte TCP und UDP dieses Ports hierher leiten; nötig ist keine.</translation>
  </message>
  <message>
   <source>A sample is a picture of a written digit. The model guesses which one it is.</source>
   <translation>Ein Beispiel ist das Bild einer geschriebenen Ziffer. Das Modell rät, welche es ist.</translation>
  </message>
  <message>
   <source>A sample is a text of at most {size} words and parts of words. Some of them are covered, and the model guesses what stands there.</source>
   <translation>Ein Beispiel ist ein Text aus höchstens {size} Wörtern und Wortteilen. Einige davon sind verdeckt, und das Modell rät, was dort steht.</translation>
  </message>
  <message>
   <source>A sample is one example of what the model learns. It guesses, and is told what was right.</source>
   <translation>Ein Beispiel ist ein Stück von dem, was das Modell lernt. Es rät und erfährt, was richtig war.</translation>
  </message>
  <message>
   <source>A sample is too large: the call that learns from it has {size}, and carries at most {most}.</source>
   <translation>Ein Beispiel ist zu groß: Die Anfrage, die daraus lernt, hat {size} und fasst höchstens {most}.</translation>
  </message>
  <message>
   <source>A sample is {size} letters of a text. The model guesses each one from those before it.</source>
   <translation>Ein Beispiel sind {size} Buchstaben eines Textes. Das Modell rät jeden aus denen davor.</translation>
  </message>
  <message>
   <source>A shard is not what was written.</source>
   <translation>Ein Stück ist nicht, was geschrieben wurde.</translation>
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
   <source>A small model that fills blanks. Any computer helps; first words come within minutes.</source>
   <translation>Ein kleines Modell, das Lücken füllt. Jeder Rechner hilft; die ersten Wörter kommen nach Minuten.</translation>
  </message>
  <message>
   <source>A small model that goes on with a text. Any computer helps; first words within minutes.</source>
   <translation>Ein kleines Modell, das einen Text fortsetzt. Jeder Rechner hilft; erste Wörter nach Minuten.</translation>
  </message>
  <message>
   <source>A stand-in tells its key when it starts.</source>
   <translation>Ein Ersatz nennt seinen Schlüssel, wenn er startet.</translation>
  </message>
  <message>
   <source>A&amp;dd a computer</source>
   <translation>Rechner hin&amp;zufügen</translation>
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
   <source>About {download} are downloaded, and {disk} of the disk are taken. Each file is checked.</source>
   <translation>Etwa {download} werden geladen, und {disk} der Festplatte werden belegt. Jede Datei wird geprüft.</translation>
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
   <source>Add --epochs N.</source>
   <translation>--epochs N hinzufügen.</translation>
  </message>
  <message>
   <source>Add `potluck engine` to what your system starts at login.</source>
   <translation>`potluck engine` in die Programme aufnehmen, die das System beim Anmelden startet.</translation>
  </message>
  <message>
   <source>Add another backbone first.</source>
   <translation>Zuerst einen anderen Stützpunkt aufnehmen.</translation>
  </message>
  <message>
   <source>Add another moderator first.</source>
   <translation>Erst eine andere Person zur Moderation hinzufügen.</translation>
  </message>
  <message>
   <source>Address of a list</source>
   <translation>Adresse einer Liste</translation>
  </message>
  <message>
   <source>Addresses in the link: {hosts}</source>
   <translation>Adressen im Link: {hosts}</translation>
  </message>
  <message>
   <source>All I ha&amp;ve</source>
   <translation>Alles, was &amp;da ist</translation>
  </message>
  <message>
   <source>All computers go back to step {epoch} once enough moderators have agreed. Steps since then are not kept; a later copy can be gone back to in the same way.</source>
   <translation>Alle Rechner gehen zu Schritt {epoch} zurück, sobald genug Personen der Moderation zugestimmt haben. Spätere Schritte bleiben nicht erhalten; zu einer späteren Kopie kann man ebenso zurückgehen.</translation>
  </message>
  <message>
   <source>All cores but one</source>
   <translation>Alle Kerne bis auf einen</translation>
  </message>
  <message>
   <source>All of the time, behind your programs; a card rests while you are there.</source>
   <translation>Die ganze Zeit, hinter den anderen Programmen; eine Karte ruht, solange jemand da ist.</translation>
  </message>
  <message>
   <source>All of the time, the card also while you are there.</source>
   <translation>Die ganze Zeit, die Karte auch dann, wenn jemand da ist.</translation>
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
   <source>Allow at least {least}, or choose no limit.</source>
   <translation>Bitte mindestens {least} erlauben, oder keine Grenze.</translation>
  </message>
  <message>
   <source>Allow at least {least}, or pause Potluck while it should use no network.</source>
   <translation>Bitte mindestens {least} erlauben, oder Potluck anhalten, solange es das Netz nicht nutzen soll.</translation>
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
   <source>Allowed are: {names}.</source>
   <translation>Erlaubt sind: {names}.</translation>
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
   <source>Another &amp;recipe:</source>
   <translation>Ein anderes &amp;Rezept:</translation>
  </message>
  <message>
   <source>Another Potluck is just starting.</source>
   <translation>Ein anderes Potluck startet gerade.</translation>
  </message>
  <message>
   <source>Another Potluck just made this computer's key.</source>
   <translation>Ein anderes Potluck hat gerade den Schlüssel dieses Rechners erzeugt.</translation>
  </message>
  <message>
   <source>Another command changes this collaboration.</source>
   <translation>Ein anderer Befehl ändert dieses Projekt.</translation>
  </message>
  <message>
   <source>Another command founds {name} there.</source>
   <translation>Ein anderer Befehl gründet dort {name}.</translation>
  </message>
  <message>
   <source>Another computer takes part with the key of this one, and the others reach now one and now the other: perhaps Potluck's folder was copied. Have one of the two join anew, in a new folder.</source>
   <translation>Ein anderer Rechner nimmt mit dem Schlüssel dieses Rechners teil, und die anderen erreichen mal den einen, mal den anderen: Vielleicht wurde der Ordner von Potluck kopiert. Einer der beiden muss in einem neuen Ordner neu beitreten.</translation>
  </message>
  <message>
   <source>Another is chosen as in: potluck settings device cpu; several as in: potluck settings device cuda:0,cpu</source>
   <translation>Ein anderes wählt man so: potluck settings device cpu; mehrere so: potluck settings device cuda:0,cpu</translation>
  </message>
  <message>
   <source>Another one?</source>
   <translation>Noch eines?</translation>
  </message>
  <message>
   <source>Another program answers where Potluck did.</source>
   <translation>Wo Potluck antwortete, antwortet ein anderes Programm.</translation>
  </message>
  <message>
   <source>Another program has locked the database {place}.</source>
   <translation>Ein anderes Programm hat die Datenbank {place} gesperrt.</translation>
  </message>
  <message>
   <source>Another program holds {path} open, an antivirus for example.</source>
   <translation>Ein anderes Programm hält {path} offen, ein Virenscanner zum Beispiel.</translation>
  </message>
  <message>
   <source>Another share by the clock</source>
   <translation>Ein anderer Anteil nach der Uhr</translation>
  </message>
  <message>
   <source>Any</source>
   <translation>Beliebig</translation>
  </message>
  <message>
   <source>Any number of computers</source>
   <translation>Beliebig viele Rechner</translation>
  </message>
  <message>
   <source>Apple's graphics</source>
   <translation>Grafik von Apple</translation>
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
   <source>As many people have come in today as this collaboration lets in.</source>
   <translation>Heute sind so viele dazugekommen, wie dieses Projekt aufnimmt.</translation>
  </message>
  <message>
   <source>As measured or estimated</source>
   <translation>Gemessen oder geschätzt</translation>
  </message>
  <message>
   <source>As memory allows</source>
   <translation>So viele, wie Speicher da ist</translation>
  </message>
  <message>
   <source>As wor&amp;ds</source>
   <translation>Als W&amp;orte</translation>
  </message>
  <message>
   <source>Ask a moderator to add it.</source>
   <translation>Die Moderation bitten, ihn hinzuzufügen.</translation>
  </message>
  <message>
   <source>Ask again</source>
   <translation>Noch einmal fragen</translation>
  </message>
  <message>
   <source>Ask again in a minute.</source>
   <translation>In einer Minute noch einmal fragen.</translation>
  </message>
  <message>
   <source>Ask again in a moment.</source>
   <translation>Gleich noch einmal fragen.</translation>
  </message>
  <message>
   <source>Ask for a new link.</source>
   <translation>Um einen neuen Link bitten.</translation>
  </message>
  <message>
   <source>Ask for the file that potluck directory --make has written.</source>
   <translation>Um die Datei bitten, die potluck directory --make geschrieben hat.</translation>
  </message>
  <message>
   <source>Ask its organiser to put you there, then sign in again.</source>
   <translation>Die Leitung bitten, den Namen aufzunehmen, dann noch einmal anmelden.</translation>
  </message>
  <message>
   <source>Ask on a computer that trains.</source>
   <translation>Auf einem Rechner fragen, der trainiert.</translation>
  </message>
  <message>
   <source>Ask the moderators, and start it with --stand-in on a computer that takes part.</source>
   <translation>Die Moderation fragen, und ihn mit --stand-in auf einem Rechner starten, der mitmacht.</translation>
  </message>
  <message>
   <source>Ask the organiser for a complete one.</source>
   <translation>Die Leitung um ein vollständiges bitten.</translation>
  </message>
  <message>
   <source>Ask the organiser for a link with an invitation, under another name.</source>
   <translation>Die Leitung um einen Link mit Einladung bitten, unter einem anderen Namen.</translation>
  </message>
  <message>
   <source>Ask the organiser for a new link.</source>
   <translation>Die Leitung des Projekts um einen neuen Link bitten.</translation>
  </message>
  <message>
   <source>Ask the organiser for a new one.</source>
   <translation>Die Leitung um eine neue Fassung bitten.</translation>
  </message>
  <message>
   <source>Ask the organiser for new ones.</source>
   <translation>Die Leitung um neue bitten.</translation>
  </message>
  <message>
   <source>Ask the organiser for one that fits.</source>
   <translation>Die Leitung um eine passende Fassung bitten.</translation>
  </message>
  <message>
   <source>Ask the organiser for one without `delayed`.</source>
   <translation>Die Leitung um eines ohne `delayed` bitten.</translation>
  </message>
  <message>
   <source>Ask the organiser for the collaboration's link again.</source>
   <translation>Die Leitung noch einmal um den Link des Projekts bitten.</translation>
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
   <source>Ask the organiser to update the backbone, or for a link with an invitation.</source>
   <translation>Die Leitung bitten, den Stützpunkt zu aktualisieren, oder um einen Link mit Einladung.</translation>
  </message>
  <message>
   <source>Ask the organiser to update the backbone.</source>
   <translation>Die Leitung bitten, den Stützpunkt zu aktualisieren.</translation>
  </message>
  <message>
   <source>Ask the organiser why; a day after your request you can ask again where you signed in.</source>
   <translation>Die Leitung nach dem Grund fragen; einen Tag nach der Anfrage ist dort, wo die Anmeldung war, eine neue möglich.</translation>
  </message>
  <message>
   <source>Ask the organiser.</source>
   <translation>Die Leitung fragen.</translation>
  </message>
  <message>
   <source>Ask {organiser} for a link: only the charter makes new ones.</source>
   <translation>{organiser} um einen Link bitten: Neue macht nur, wer den Projektordner hat.</translation>
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
   <source>Asking the router…</source>
   <translation>Der Router wird gefragt…</translation>
  </message>
  <message>
   <source>At other times</source>
   <translation>Zu anderen Zeiten</translation>
  </message>
  <message>
   <source>At these ho&amp;urs</source>
   <translation>Z&amp;u diesen Zeiten</translation>
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
   <source>Averaging {company}{meanwhile}: everyone's work becomes step {epoch} of the model.</source>
   <translation>Mittelt {company}{meanwhile}: Aus der Arbeit aller wird Schritt {epoch} des Modells.</translation>
  </message>
  <message>
   <source>Ban them, which needs the others' signatures.</source>
   <translation>Sie ausschließen, was die Unterschriften der anderen braucht.</translation>
  </message>
  <message>
   <source>Begin with a model that Potluck has exported.</source>
   <translation>Mit einem Modell beginnen, das Potluck exportiert hat.</translation>
  </message>
  <message>
   <source>Begin with another model, or without one.</source>
   <translation>Mit einem anderen Modell beginnen, oder ohne eines.</translation>
  </message>
  <message>
   <source>Blank {number}</source>
   <translation>Lücke {number}</translation>
  </message>
  <message>
   <source>Bring back a copy of it, or start the backbone again to begin with an empty one.</source>
   <translation>Eine Kopie davon zurückbringen, oder den Stützpunkt neu starten, um mit einer leeren zu beginnen.</translation>
  </message>
  <message>
   <source>Bring back a copy of it.</source>
   <translation>Eine Kopie davon zurückholen.</translation>
  </message>
  <message>
   <source>Bring back {invitations}.</source>
   <translation>{invitations} zurückholen.</translation>
  </message>
  <message>
   <source>Bring it back as it was.</source>
   <translation>Es zurückholen, wie es war.</translation>
  </message>
  <message>
   <source>Bring it here, or go on from a computer that has it.</source>
   <translation>Ihn hierher bringen, oder von einem Rechner aus weitermachen, der ihn hat.</translation>
  </message>
  <message>
   <source>Bring the tokenizer that belongs to the model.</source>
   <translation>Den Tokenizer mitgeben, der zum Modell gehört.</translation>
  </message>
  <message>
   <source>Bring them back.</source>
   <translation>Bitte zurückbringen.</translation>
  </message>
  <message>
   <source>Build of torch</source>
   <translation>Fassung von torch</translation>
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
   <source>By the moderators' list, this backbone lets nobody in.</source>
   <translation>Nach der Liste der Moderation lässt dieser Stützpunkt niemanden herein.</translation>
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
   <translation>Nach der Uhr dieses Rechners gilt sein Ausweis jetzt nicht. Es wird gewartet, bis der Stützpunkt bei {where} ihn erneuert.</translation>
  </message>
  <message>
   <source>C&amp;ancel</source>
   <translation>&amp;Abbrechen</translation>
  </message>
  <message>
   <source>C&amp;lose</source>
   <translation>Sch&amp;ließen</translation>
  </message>
  <message>
   <source>C&amp;opy the code</source>
   <translation>Code k&amp;opieren</translation>
  </message>
  <message>
   <source>Call it {stem}.prom.</source>
   <translation>Sie {stem}.prom nennen.</translation>
  </message>
  <message>
   <source>Cancel</source>
   <translation>Abbrechen</translation>
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
   <source>Change it, or leave it out.</source>
   <translation>Es ändern oder weglassen.</translation>
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
   <source>Check its permissions.</source>
   <translation>Seine Zugriffsrechte prüfen.</translation>
  </message>
  <message>
   <source>Check that it is a file that belongs to you.</source>
   <translation>Bitte prüfen, ob es eine Datei ist, die dem eigenen Benutzerkonto gehört.</translation>
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
   <source>Check the address and the connection, and try again.</source>
   <translation>Adresse und Verbindung prüfen und noch einmal versuchen.</translation>
  </message>
  <message>
   <source>Check the address and your connection, and try again later.</source>
   <translation>Adresse und Verbindung prüfen und es später noch einmal versuchen.</translation>
  </message>
  <message>
   <source>Check the address, or ask for the file.</source>
   <translation>Die Adresse prüfen, oder um die Datei bitten.</translation>
  </message>
  <message>
   <source>Check the address, the connection, and your right to it (potluck data login keeps a password).</source>
   <translation>Adresse, Verbindung und das Recht darauf prüfen (potluck data login bewahrt ein Passwort auf).</translation>
  </message>
  <message>
   <source>Check the connection, and the proxy if there is one (HTTPS_PROXY), then try again. Without internet: potluck training-part get --from FOLDER</source>
   <translation>Die Verbindung prüfen und, wenn es einen gibt, den Proxy (HTTPS_PROXY), dann noch einmal versuchen. Ohne Internet: potluck training-part get --from ORDNER</translation>
  </message>
  <message>
   <source>Check the connection, and the proxy if there is one (HTTPS_PROXY): it goes on where it was.</source>
   <translation>Die Verbindung prüfen und, falls es einen gibt, den Proxy (HTTPS_PROXY): Es geht dort weiter, wo es war.</translation>
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
   <source>Check your connection, and try again later.</source>
   <translation>Die Verbindung prüfen und es später noch einmal versuchen.</translation>
  </message>
  <message>
   <source>Checking…</source>
   <translation>Wird geprüft…</translation>
  </message>
  <message>
   <source>Choose a f&amp;ile…</source>
   <translation>Datei wä&amp;hlen…</translation>
  </message>
  <message>
   <source>Choose a fol&amp;der…</source>
   <translation>Or&amp;dner wählen…</translation>
  </message>
  <message>
   <source>Choose a smaller width or length of samples, or the codec u8.</source>
   <translation>Eine kleinere Breite oder Länge der Beispiele wählen, oder den Codec u8.</translation>
  </message>
  <message>
   <source>Choose a whole number from {low} to {high}{otherwise}.</source>
   <translation>Bitte eine ganze Zahl von {low} bis {high}{otherwise} wählen.</translation>
  </message>
  <message>
   <source>Choose another name, or name another folder with --charter.</source>
   <translation>Einen anderen Namen wählen, oder mit --charter einen anderen Ordner nennen.</translation>
  </message>
  <message>
   <source>Choose another name.</source>
   <translation>Einen anderen Namen wählen.</translation>
  </message>
  <message>
   <source>Choose another one.</source>
   <translation>Eine andere wählen.</translation>
  </message>
  <message>
   <source>Choose another one: --site PORT --site-bind ADDRESS</source>
   <translation>Etwas anderes wählen: --site PORT --site-bind ADRESSE</translation>
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
   <source>Choose one of 1 to {most} bytes that can be printed.</source>
   <translation>Einen aus 1 bis {most} druckbaren Byte wählen.</translation>
  </message>
  <message>
   <source>Choose one of 1 to {most} printable bytes.</source>
   <translation>Einen aus 1 bis {most} druckbaren Byte wählen.</translation>
  </message>
  <message>
   <source>Choose one of at most {most} letters, digits and spaces.</source>
   <translation>Bitte einen mit höchstens {most} Buchstaben, Ziffern und Leerzeichen wählen.</translation>
  </message>
  <message>
   <source>Choose one of this computer's addresses, or {any} for all.</source>
   <translation>Bitte eine Adresse dieses Rechners wählen, oder {any} für alle.</translation>
  </message>
  <message>
   <source>Choose one with letters of one.</source>
   <translation>Einen Namen mit Buchstaben einer einzigen Schrift wählen.</translation>
  </message>
  <message>
   <source>Choose one within the next {days} days.</source>
   <translation>Bitte einen innerhalb der nächsten {days} Tage wählen.</translation>
  </message>
  <message>
   <source>Choose others: potluck settings device auto</source>
   <translation>Andere wählt: potluck settings device auto</translation>
  </message>
  <message>
   <source>Choose the task that fits the model, or another model.</source>
   <translation>Die Aufgabe wählen, die zum Modell passt, oder ein anderes Modell.</translation>
  </message>
  <message>
   <source>Choose what is learned, and get a link for them: four pages, this computer is enough.</source>
   <translation>Aussuchen, was gelernt wird, und einen Link für die anderen bekommen: vier Seiten, dieser Rechner genügt.</translation>
  </message>
  <message>
   <source>Choose {names}, or one card, such as cuda:1.</source>
   <translation>{names} wählen, oder eine Karte wie cuda:1.</translation>
  </message>
  <message>
   <source>Choose {names}.</source>
   <translation>Zur Wahl stehen: {names}.</translation>
  </message>
  <message>
   <source>Choose: {commands}</source>
   <translation>Zur Wahl stehen: {commands}</translation>
  </message>
  <message>
   <source>Cl&amp;ose</source>
   <translation>Sch&amp;ließen</translation>
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
   <source>Close one of them.</source>
   <translation>Bitte eines davon schließen.</translation>
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
   <source>Co&amp;llaboration</source>
   <translation>Pro&amp;jekt</translation>
  </message>
  <message>
   <source>Co&amp;lours</source>
   <translation>&amp;Farben</translation>
  </message>
  <message>
   <source>Code</source>
   <translation>Code</translation>
  </message>
  <message>
   <source>Colla&amp;borations</source>
   <translation>Pro&amp;jekte</translation>
  </message>
  <message>
   <source>Collaboration</source>
   <translation>Projekt</translation>
  </message>
  <message>
   <source>Collaborations</source>
   <translation>Projekte</translation>
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
   <source>Connected {medium}, {router}.</source>
   <translation>Verbunden {medium}, {router}.</translation>
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
   <source>Cop&amp;y</source>
   <translation>Ko&amp;pieren</translation>
  </message>
  <message>
   <source>Copied</source>
   <translation>Kopiert</translation>
  </message>
  <message>
   <source>Copies of the model</source>
   <translation>Kopien des Modells</translation>
  </message>
  <message>
   <source>Copy it again, or make it again with: potluck data verify {folder} --again</source>
   <translation>Sie neu kopieren, oder neu machen mit: potluck data verify {folder} --again</translation>
  </message>
  <message>
   <source>Copy the model's answer</source>
   <translation>Die Antwort des Modells kopieren</translation>
  </message>
  <message>
   <source>Copy the shards from another place, or cut the text again.</source>
   <translation>Die Stücke von anderswo kopieren, oder den Text neu zerlegen.</translation>
  </message>
  <message>
   <source>Copy the whole of the link, or ask the organiser for one with an invitation.</source>
   <translation>Den ganzen Link kopieren, oder die Leitung um einen mit Einladung bitten.</translation>
  </message>
  <message>
   <source>Copy {number}: step {epoch}, {came}</source>
   <translation>Kopie {number}: Schritt {epoch}, {came}</translation>
  </message>
  <message>
   <source>Correct it.</source>
   <translation>Bitte berichtigen.</translation>
  </message>
  <message>
   <source>Cosine</source>
   <translation>Kosinus</translation>
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
   <source>Cut it differently.</source>
   <translation>Ihn anders zerlegen.</translation>
  </message>
  <message>
   <source>Cut its text with `potluck data cut`, and found it with the index.</source>
   <translation>Seinen Text mit `potluck data cut` zerlegen und es mit dem Verzeichnis gründen.</translation>
  </message>
  <message>
   <source>Cut larger ones: --shard-mb.</source>
   <translation>Größere schneiden: --shard-mb.</translation>
  </message>
  <message>
   <source>Cut the data anew, or copy the file again.</source>
   <translation>Die Daten neu zerlegen, oder die Datei neu kopieren.</translation>
  </message>
  <message>
   <source>Cut the text again with `potluck data cut`, or update Potluck.</source>
   <translation>Den Text mit `potluck data cut` neu zerlegen, oder Potluck aktualisieren.</translation>
  </message>
  <message>
   <source>Cut the text into another folder, or delete this one.</source>
   <translation>Den Text in einen anderen Ordner zerlegen, oder diesen löschen.</translation>
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
   <translation>Keine Daten: Herauszufinden, welche Dateien von {name} gemeint sind, hat auf diesem Rechner zu lange gedauert oder zu viel Speicher gebraucht. Es wird noch einmal versucht.</translation>
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
   <translation>Keine Daten: {host} lässt diesen Rechner nicht lesen ({status}). Ein Passwort dafür bewahrt der Befehl potluck data login auf.</translation>
  </message>
  <message>
   <source>Data stalled: {host} is in a private network. Text there is read only where the organiser names the address in numbers, and you joined by a link whose addresses are all private: ask the organiser for one.</source>
   <translation>Keine Daten: {host} liegt in einem privaten Netz. Dort wird Text nur gelesen, wenn die Leitung die Adresse in Zahlen nennt und der Link, über den dieser Rechner beigetreten ist, nur private Adressen hat: Bitte die Leitung um einen solchen Link bitten.</translation>
  </message>
  <message>
   <source>Data stalled: {name} could not be written ({why}). Check that the folder belongs to you and is not read-only.</source>
   <translation>Keine Daten: {name} konnte nicht geschrieben werden ({why}). Bitte prüfen, ob der Ordner dem eigenen Benutzerkonto gehört und beschreibbar ist.</translation>
  </message>
  <message>
   <source>Data stalled: {name} has no column {column}. The organiser can mend that.</source>
   <translation>Keine Daten: {name} hat keine Spalte {column}. Das kann die Leitung in Ordnung bringen.</translation>
  </message>
  <message>
   <source>Data stalled: {name} holds something else than text. The organiser can mend that.</source>
   <translation>Keine Daten: {name} enthält etwas anderes als Text. Das kann die Leitung in Ordnung bringen.</translation>
  </message>
  <message>
   <source>Data stalled: {name} is damaged. The organiser can mend that.</source>
   <translation>Keine Daten: {name} ist beschädigt. Das kann die Leitung in Ordnung bringen.</translation>
  </message>
  <message>
   <source>Data stalled: {name} is not there any more. The organiser can mend that.</source>
   <translation>Keine Daten: {name} ist nicht mehr da. Das kann die Leitung in Ordnung bringen.</translation>
  </message>
  <message>
   <source>Data stalled: {name} is not what the organiser has signed. It is asked for again.</source>
   <translation>Keine Daten: {name} ist nicht, was die Leitung unterschrieben hat. Es wird noch einmal danach gefragt.</translation>
  </message>
  <message>
   <source>Data wait: your rules forbid the network now.</source>
   <translation>Die Daten warten: Die eigenen Regeln erlauben das Netz jetzt nicht.</translation>
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
   <source>Decisions of other roles.</source>
   <translation>Entscheidungen anderer Rollen.</translation>
  </message>
  <message>
   <source>Details</source>
   <translation>Einzelheiten</translation>
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
   <source>Dismiss</source>
   <translation>Ausblenden</translation>
  </message>
  <message>
   <source>Do not sign it before its author has told what it is: see the copies with potluck moderate copies.</source>
   <translation>Nicht unterschreiben, bevor gesagt ist, was es ist: Die Kopien zeigt potluck moderate copies.</translation>
  </message>
  <message>
   <source>Do not trust this file.</source>
   <translation>Dieser Datei nicht trauen.</translation>
  </message>
  <message>
   <source>Do not use it; ask the organiser for the collaboration's link again.</source>
   <translation>Es nicht verwenden; die Leitung noch einmal um den Link des Projekts bitten.</translation>
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
   <source>Downloading: {done} of {total}</source>
   <translation>Wird geladen: {done} von {total}</translation>
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
   <source>End it from another one, or leave.</source>
   <translation>Es von einem anderen aus beenden, oder das Projekt verlassen.</translation>
  </message>
  <message>
   <source>End it with the system's task manager, or log out.</source>
   <translation>Mit der Aufgabenverwaltung des Systems beenden, oder abmelden.</translation>
  </message>
  <message>
   <source>End it with: potluck quit --now</source>
   <translation>Beenden mit: potluck quit --now</translation>
  </message>
  <message>
   <source>End process {pid}.</source>
   <translation>Prozess {pid} beenden.</translation>
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
   <source>End that program.</source>
   <translation>Dieses Programm beenden.</translation>
  </message>
  <message>
   <source>End {computer}</source>
   <translation>{computer} beenden</translation>
  </message>
  <message>
   <source>End {computer}?</source>
   <translation>{computer} beenden?</translation>
  </message>
  <message>
   <source>Ended</source>
   <translation>Zu Ende</translation>
  </message>
  <message>
   <source>End…</source>
   <translation>Beenden…</translation>
  </message>
  <message>
   <source>Ever&amp;y night</source>
   <translation>&amp;Jede Nacht</translation>
  </message>
  <message>
   <source>Everybody brings a little computing; together it trains one model. Potluck is free software under the Apache License 2.0, without any warranty.</source>
   <translation>Alle bringen ein wenig Rechenzeit mit; zusammen trainiert das ein Modell. Potluck ist freie Software unter der Apache-Lizenz 2.0, ohne jede Gewährleistung.</translation>
  </message>
  <message>
   <source>Everybody has gone back to it.</source>
   <translation>Alle sind zu ihr zurückgegangen.</translation>
  </message>
  <message>
   <source>Everything</source>
   <translation>Alles</translation>
  </message>
  <message>
   <source>Experts</source>
   <translation>Experten</translation>
  </message>
  <message>
   <source>Experts that li&amp;ve here</source>
   <translation>Experten, die hier wo&amp;hnen</translation>
  </message>
  <message>
   <source>Experts that lived here answered {requests} requests today.</source>
   <translation>Experten, die hier wohnten, haben heute {requests} Anfragen beantwortet.</translation>
  </message>
  <message>
   <source>Fetching the experts that live elsewhere</source>
   <translation>Experten, die anderswo wohnen, werden geholt</translation>
  </message>
  <message>
   <source>Files of {name} are missing on this computer.</source>
   <translation>Auf diesem Rechner fehlen Dateien von {name}.</translation>
  </message>
  <message>
   <source>Files of {name} are missing or damaged on this computer.</source>
   <translation>Dateien von {name} fehlen auf diesem Rechner oder sind beschädigt.</translation>
  </message>
  <message>
   <source>Fill it on a computer with a connection, or leave --from out.</source>
   <translation>Ihn auf einem Rechner mit Verbindung füllen, oder --from weglassen.</translation>
  </message>
  <message>
   <source>Finding out which files of {name} are meant took this computer too long or too much memory.</source>
   <translation>Herauszufinden, welche Dateien von {name} gemeint sind, brauchte auf diesem Rechner zu lange oder zu viel Speicher.</translation>
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
   <source>Finished: step {epoch} was the last that was asked for.</source>
   <translation>Fertig: Schritt {epoch} war der letzte, der verlangt war.</translation>
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
   <source>Finished: with step {epoch} the collaboration has reached the end of its schedule. Nothing is computed.</source>
   <translation>Fertig: Mit Schritt {epoch} hat das Projekt das Ende seines Plans erreicht. Es wird nichts gerechnet.</translation>
  </message>
  <message>
   <source>First contribution</source>
   <translation>Erster Beitrag</translation>
  </message>
  <message>
   <source>Folder of texts</source>
   <translation>Ordner mit Texten</translation>
  </message>
  <message>
   <source>For 7 days nobody who lets people into {name} has answered, and the moderators have said nothing new. Anybody who took part can go on from its model: potluck found --go-on "{name}"</source>
   <translation>Seit 7 Tagen antwortet niemand, der Rechner in {name} einlässt, und die Moderation hat nichts Neues gesagt. Alle, die mitgemacht haben, können mit dem Modell weitermachen: potluck found --go-on "{name}"</translation>
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
   <source>For example: --database postgresql://potluck@localhost/potluck</source>
   <translation>Zum Beispiel: --database postgresql://potluck@localhost/potluck</translation>
  </message>
  <message>
   <source>For example: potluck try "Once upon a time"</source>
   <translation>Zum Beispiel: potluck try "Es war einmal"</translation>
  </message>
  <message>
   <source>For example: potluck try "People bring their ___ computers"</source>
   <translation>Zum Beispiel: potluck try "People bring their ___ computers"</translation>
  </message>
  <message>
   <source>For {seconds} s the computers have not managed to put their work together ({times} attempts). They go on trying.</source>
   <translation>Seit {seconds} s ist es den Rechnern nicht gelungen, ihre Arbeit zusammenzufügen ({times} Versuche). Sie versuchen es weiter.</translation>
  </message>
  <message>
   <source>Found a collaboration that goes on.</source>
   <translation>Ein Projekt gründen, das weitergeht.</translation>
  </message>
  <message>
   <source>Found a new one: potluck found --help</source>
   <translation>Ein neues gründen: potluck found --help</translation>
  </message>
  <message>
   <source>Free some space where {folder} lies, then try again: what is here already is kept.</source>
   <translation>Platz schaffen, wo {folder} liegt, dann noch einmal versuchen: Was schon hier ist, bleibt.</translation>
  </message>
  <message>
   <source>Free some space.</source>
   <translation>Bitte Platz schaffen.</translation>
  </message>
  <message>
   <source>Free some space: {needed} GB are needed.</source>
   <translation>Bitte Platz schaffen: {needed} GB werden gebraucht.</translation>
  </message>
  <message>
   <source>Friday</source>
   <translation>Freitag</translation>
  </message>
  <message>
   <source>Friends can come in from anywhere: your router leads them here. Your provider may change the address; then make a new link.</source>
   <translation>Freunde kommen von überall herein: Der eigene Router führt sie hierher. Der Anbieter kann die Adresse ändern; dann einen neuen Link machen.</translation>
  </message>
  <message>
   <source>From a &amp;folder…</source>
   <translation>Aus einem &amp;Ordner…</translation>
  </message>
  <message>
   <source>From which text</source>
   <translation>Aus welchem Text</translation>
  </message>
  <message>
   <source>From {start} to {end} is zero minutes.</source>
   <translation>Von {start} bis {end} vergeht keine Zeit.</translation>
  </message>
  <message>
   <source>GB</source>
   <translation>GB</translation>
  </message>
  <message>
   <source>Get another build: potluck training-part</source>
   <translation>Eine andere Fassung holen: potluck training-part</translation>
  </message>
  <message>
   <source>Get another build: potluck training-part get --build cpu</source>
   <translation>Eine andere Fassung holen: potluck training-part get --build cpu</translation>
  </message>
  <message>
   <source>Get it again from where it was made public.</source>
   <translation>Sie von dort neu holen, wo sie veröffentlicht wurde.</translation>
  </message>
  <message>
   <source>Get it from where newer versions are.</source>
   <translation>Neuere Versionen gibt es dort, wo es herkam.</translation>
  </message>
  <message>
   <source>Get it in the window, or with: potluck training-part get</source>
   <translation>Ihn im Fenster holen, oder mit: potluck training-part get</translation>
  </message>
  <message>
   <source>Get it with: potluck training-part get</source>
   <translation>Holen mit: potluck training-part get</translation>
  </message>
  <message>
   <source>Get the training part…</source>
   <translation>Trainingsteil holen…</translation>
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
   <source>Give a JSON object, such as {"key": "...", "secret": "..."}.</source>
   <translation>Ein JSON-Objekt angeben, etwa {"key": "...", "secret": "..."}.</translation>
  </message>
  <message>
   <source>Give a folder with more files of text, for whole files are kept to measure with; half a million characters is a good beginning.</source>
   <translation>Einen Ordner mit mehr Textdateien angeben, denn ganze Dateien werden zum Messen aufgehoben; eine halbe Million Zeichen ist ein guter Anfang.</translation>
  </message>
  <message>
   <source>Give a key. {advice}</source>
   <translation>Einen Schlüssel angeben. {advice}</translation>
  </message>
  <message>
   <source>Give a name as the leaderboard has it, or a key.</source>
   <translation>Einen Namen angeben, wie die Rangliste ihn hat, oder einen Schlüssel.</translation>
  </message>
  <message>
   <source>Give a name of the leaderboard, or a key.</source>
   <translation>Einen Namen aus der Rangliste oder einen Schlüssel nennen.</translation>
  </message>
  <message>
   <source>Give a sentence or two.</source>
   <translation>Ein oder zwei Sätze angeben.</translation>
  </message>
  <message>
   <source>Give an address that begins with https://, or a file.</source>
   <translation>Eine Adresse nennen, die mit https:// beginnt, oder eine Datei.</translation>
  </message>
  <message>
   <source>Give it as one line.</source>
   <translation>Es in einer Zeile angeben.</translation>
  </message>
  <message>
   <source>Give it as to ssh: user@host</source>
   <translation>Ihn angeben wie für ssh: benutzer@rechner</translation>
  </message>
  <message>
   <source>Give it in UTF-8.</source>
   <translation>Es in UTF-8 angeben.</translation>
  </message>
  <message>
   <source>Give its words with --words.</source>
   <translation>Seine Worte mit --words angeben.</translation>
  </message>
  <message>
   <source>Give more text.</source>
   <translation>Mehr Text angeben.</translation>
  </message>
  <message>
   <source>Give more text; a few million characters are a beginning.</source>
   <translation>Mehr Text angeben; einige Millionen Zeichen sind ein Anfang.</translation>
  </message>
  <message>
   <source>Give name and password in HTTPS_PROXY, as in http://NAME:PASSWORD@HOST:PORT</source>
   <translation>Name und Passwort in HTTPS_PROXY angeben, wie in http://NAME:PASSWORT@RECHNER:PORT</translation>
  </message>
  <message>
   <source>Give text in which more words differ.</source>
   <translation>Text angeben, in dem sich mehr Wörter unterscheiden.</translation>
  </message>
  <message>
   <source>Give the command again when nobody writes there any more.</source>
   <translation>Den Befehl noch einmal geben, wenn dort niemand mehr schreibt.</translation>
  </message>
  <message>
   <source>Give the key of the one at which they moderate: potluck account</source>
   <translation>Den Schlüssel des Rechners angeben, an dem moderiert wird: potluck account</translation>
  </message>
  <message>
   <source>Give the path of a folder with text files, or an address of some.</source>
   <translation>Den Pfad eines Ordners mit Textdateien angeben, oder eine Adresse von solchen.</translation>
  </message>
  <message>
   <source>Give the whole link of the other one: potluck://...</source>
   <translation>Den ganzen Link des anderen angeben: potluck://...</translation>
  </message>
  <message>
   <source>Give yourself the right to read it, or other credentials.</source>
   <translation>Sich das Recht zum Lesen geben, oder andere Zugangsdaten.</translation>
  </message>
  <message>
   <source>Go back</source>
   <translation>Zurückgehen</translation>
  </message>
  <message>
   <source>Go back…</source>
   <translation>Zurückgehen …</translation>
  </message>
  <message>
   <source>Go on from another member's computer.</source>
   <translation>Vom Rechner eines anderen Mitglieds aus weitermachen.</translation>
  </message>
  <message>
   <source>Goes on from</source>
   <translation>Führt fort</translation>
  </message>
  <message>
   <source>Graphics card</source>
   <translation>Grafikkarte</translation>
  </message>
  <message>
   <source>Graphics card of AMD (ROCm {version})</source>
   <translation>Grafikkarte von AMD (ROCm {version})</translation>
  </message>
  <message>
   <source>Graphics card of NVIDIA (CUDA {version})</source>
   <translation>Grafikkarte von NVIDIA (CUDA {version})</translation>
  </message>
  <message>
   <source>Graphics card {name}</source>
   <translation>Grafikkarte {name}</translation>
  </message>
  <message>
   <source>Half of what is free</source>
   <translation>Hälfte des freien</translation>
  </message>
  <message>
   <source>Hand out its link, or stop it and start again.</source>
   <translation>Seinen Link weitergeben, oder ihn anhalten und neu starten.</translation>
  </message>
  <message>
   <source>Have Potluck keep its things on a drive of this computer: set POTLUCK_HOME.</source>
   <translation>Potluck seine Dateien auf einem Laufwerk dieses Rechners ablegen lassen: POTLUCK_HOME setzen.</translation>
  </message>
  <message>
   <source>Have it make another key.</source>
   <translation>Ihn einen anderen Schlüssel machen lassen.</translation>
  </message>
  <message>
   <source>Heat and noise</source>
   <translation>Wärme und Lärm</translation>
  </message>
  <message>
   <source>Heat and price</source>
   <translation>Wärme und Preis</translation>
  </message>
  <message>
   <source>Held-out loss</source>
   <translation>Verlust am Prüftext</translation>
  </message>
  <message>
   <source>Held-out loss at step {epoch}: {loss}.</source>
   <translation>Verlust am Prüftext bei Schritt {epoch}: {loss}.</translation>
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
   <source>Helps to average. To train, it needs the training part of Potluck.</source>
   <translation>Hilft beim Mitteln. Zum Trainieren braucht dieser Rechner den Trainingsteil von Potluck.</translation>
  </message>
  <message>
   <source>Helps to average: this line is too slow for its own gradients.</source>
   <translation>Hilft beim Mitteln: Diese Verbindung ist zu langsam für eigene Gradienten.</translation>
  </message>
  <message>
   <source>Holds for too long.</source>
   <translation>Sperren für zu lange Zeit.</translation>
  </message>
  <message>
   <source>Hosting one expert: {requests} requests answered today.</source>
   <translation>Ein Experte wohnt hier: heute {requests} Anfragen beantwortet.</translation>
  </message>
  <message>
   <source>Hosting stopped: {why}.</source>
   <translation>Das Beherbergen von Experten brach ab: {why}.</translation>
  </message>
  <message>
   <source>Hosting {experts} experts: {requests} requests answered today.</source>
   <translation>{experts} Experten wohnen hier: heute {requests} Anfragen beantwortet.</translation>
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
   <source>How much may it take? A button fills in the rules; Save keeps them.</source>
   <translation>Wie viel darf es nehmen? Ein Knopf trägt die Regeln ein; Speichern behält sie.</translation>
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
   <source>How these shards were cut is not known: {address} has no {journal_file} that fits the index.</source>
   <translation>Wie diese Stücke geschnitten wurden, ist nicht bekannt: {address} hat kein {journal_file}, das zum Verzeichnis passt.</translation>
  </message>
  <message>
   <source>I have a link</source>
   <translation>Ich habe einen Link</translation>
  </message>
  <message>
   <source>If Potluck was removed or moved, install it again.</source>
   <translation>Wenn Potluck entfernt oder verschoben wurde, es wieder installieren.</translation>
  </message>
  <message>
   <source>If a name or another address leads here, the link begins with it. Without one, leave it empty.</source>
   <translation>Führt ein Name oder eine andere Adresse hierher, beginnt der Link damit. Sonst frei lassen.</translation>
  </message>
  <message>
   <source>If an authority of your own has signed it, name that authority's file in SSL_CERT_FILE.</source>
   <translation>Wenn eine eigene Zertifizierungsstelle es unterschrieben hat, deren Datei in SSL_CERT_FILE nennen.</translation>
  </message>
  <message>
   <source>If that was not you, sign in again, and compare the code.</source>
   <translation>Wenn das ein Versehen war, noch einmal anmelden und den Code vergleichen.</translation>
  </message>
  <message>
   <source>If you trust its organiser, allow it with --text and the folder's name.</source>
   <translation>Wer seiner Leitung vertraut, erlaubt es mit --text und dem Namen des Ordners.</translation>
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
   <source>In order</source>
   <translation>In Ordnung</translation>
  </message>
  <message>
   <source>In step {epoch} this computer's gradients were far larger than those of the others, and were scaled down. If it goes on, restart Potluck, and check this computer's memory and graphics card.</source>
   <translation>In Schritt {epoch} waren die Gradienten dieses Rechners weit größer als die der anderen und wurden verkleinert. Falls das anhält, Potluck neu starten und Arbeitsspeicher und Grafikkarte prüfen.</translation>
  </message>
  <message>
   <source>In the settings, on the page This computer, turn off what starts at login. Quit Potluck, then delete {place}.</source>
   <translation>In den Einstellungen auf der Seite „Dieser Rechner“ ausschalten, was bei der Anmeldung startet. Potluck beenden, dann {place} löschen.</translation>
  </message>
  <message>
   <source>In the week from {day} this computer gave {duration} on {days}, and {samples} samples went into steps of the model.</source>
   <translation>In der Woche ab {day} hat dieser Rechner {duration} lang an {days} mitgerechnet, und {samples} Beispiele gingen in Schritte des Modells ein.</translation>
  </message>
  <message>
   <source>In this collaboration this computer is called {name}.</source>
   <translation>In diesem Projekt heißt dieser Rechner {name}.</translation>
  </message>
  <message>
   <source>Install OpenSSH's client.</source>
   <translation>Den Client von OpenSSH installieren.</translation>
  </message>
  <message>
   <source>Install Potluck again, or pip beside it.</source>
   <translation>Potluck neu installieren, oder pip daneben.</translation>
  </message>
  <message>
   <source>Install it where Potluck is: pip install {package}</source>
   <translation>Dort installieren, wo Potluck ist: pip install {package}</translation>
  </message>
  <message>
   <source>Install it with: pip install "potluck[app]" - or use a command, see: potluck --help</source>
   <translation>Installieren mit: pip install "potluck[app]" - oder einen Befehl benutzen, siehe: potluck --help</translation>
  </message>
  <message>
   <source>Install it with: pip install tensorboard</source>
   <translation>Installieren mit: pip install tensorboard</translation>
  </message>
  <message>
   <source>Install it: pip install "potluck[organiser]"</source>
   <translation>Installieren: pip install "potluck[organiser]"</translation>
  </message>
  <message>
   <source>Intel's graphics</source>
   <translation>Grafik von Intel</translation>
  </message>
  <message>
   <source>Invite somebody</source>
   <translation>Jemanden einladen</translation>
  </message>
  <message>
   <source>Invite somebody to {name}</source>
   <translation>Jemanden zu {name} einladen</translation>
  </message>
  <message>
   <source>Invite somebody…</source>
   <translation>Jemanden einladen…</translation>
  </message>
  <message>
   <source>Is another version running there?</source>
   <translation>Läuft dort eine andere Version?</translation>
  </message>
  <message>
   <source>Is everything here that Potluck needs?</source>
   <translation>Ist alles da, was Potluck braucht?</translation>
  </message>
  <message>
   <source>It &amp;lasts</source>
   <translation>Er &amp;gilt</translation>
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
   <source>It computes</source>
   <translation>Er rechnet</translation>
  </message>
  <message>
   <source>It could not be found out. Name an address, or look again.</source>
   <translation>Es ließ sich nicht herausfinden. Eine Adresse nennen, oder noch einmal nachsehen.</translation>
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
   <source>It gets no pass any more. It comes in again when you sign in there, or by a new link of yours.</source>
   <translation>Er bekommt keinen Ausweis mehr. Er kommt durch eine neue Anmeldung dort wieder herein, oder durch einen neuen eigenen Link.</translation>
  </message>
  <message>
   <source>It gets no pass any more; the one that it has holds for up to 4 days.</source>
   <translation>Er bekommt keinen Ausweis mehr; der, den er hat, gilt noch bis zu 4 Tage.</translation>
  </message>
  <message>
   <source>It gets {right} {guesses} right, in examples that it has never seen.</source>
   <translation>Es errät {right} {guesses} richtig, in Beispielen, die es nie gesehen hat.</translation>
  </message>
  <message>
   <source>It goes on from the model of an earlier collaboration.</source>
   <translation>Es führt das Modell eines früheren Projekts fort.</translation>
  </message>
  <message>
   <source>It has no collaboration that can be used.</source>
   <translation>Sie hat kein brauchbares Projekt.</translation>
  </message>
  <message>
   <source>It has {most} bytes.</source>
   <translation>Er hat höchstens {most} Bytes.</translation>
  </message>
  <message>
   <source>It has {names}: name the right one with --{what} NAME, in a recipe with {what} = "NAME".</source>
   <translation>Es gibt {names}: die richtige Angabe mit --{what} NAME nennen, in einem Rezept mit {what} = "NAME".</translation>
  </message>
  <message>
   <source>It is &amp;called</source>
   <translation>Es &amp;heißt</translation>
  </message>
  <message>
   <source>It is &amp;good for</source>
   <translation>Es ist g&amp;ut für</translation>
  </message>
  <message>
   <source>It is damaged.</source>
   <translation>Er ist beschädigt.</translation>
  </message>
  <message>
   <source>It is here now, and Potluck begins to use it.</source>
   <translation>Er ist jetzt hier, und Potluck beginnt, ihn zu benutzen.</translation>
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
   <source>It is neither paused nor ended.</source>
   <translation>Es ist weder angehalten noch beendet.</translation>
  </message>
  <message>
   <source>It is not known any more which data were read, so reading begins anew. The damaged file was kept as {name}.</source>
   <translation>Es ist nicht mehr bekannt, welche Daten gelesen wurden, darum beginnt das Lesen von vorn. Die beschädigte Datei wurde als {name} aufgehoben.</translation>
  </message>
  <message>
   <source>It is not known yet where its backbone is. Try again once it runs.</source>
   <translation>Noch ist nicht bekannt, wo sein Stützpunkt ist. Noch einmal versuchen, sobald er läuft.</translation>
  </message>
  <message>
   <source>It is of another collaboration, or of another key.</source>
   <translation>Das gehört zu einem anderen Projekt oder einem anderen Schlüssel.</translation>
  </message>
  <message>
   <source>It is served when {name} needs nothing or cannot be reached.</source>
   <translation>Es ist dran, wenn {name} nichts braucht oder nicht erreichbar ist.</translation>
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
   <source>It knows: {known}. Correct the recipe, or update Potluck where the collaboration is newer.</source>
   <translation>Bekannt sind: {known}. Das Rezept berichtigen, oder Potluck aktualisieren, wenn das Projekt neuer ist.</translation>
  </message>
  <message>
   <source>It lets &amp;in</source>
   <translation>Er lässt here&amp;in</translation>
  </message>
  <message>
   <source>It lives on this computer only, and ends where you join others.</source>
   <translation>Es lebt nur auf diesem Rechner und endet mit dem Beitritt zu anderen.</translation>
  </message>
  <message>
   <source>It must be {allowed}.</source>
   <translation>Es muss sein: {allowed}.</translation>
  </message>
  <message>
   <source>It reads folders, and {known}; name one of these.</source>
   <translation>Es liest Ordner und {known}; bitte eines davon nennen.</translation>
  </message>
  <message>
   <source>It runs on another computer: end it there, with potluck quit --now</source>
   <translation>Es läuft auf einem anderen Rechner: dort beenden, mit potluck quit --now</translation>
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
   <source>It was fetched before everybody went back to an earlier one.</source>
   <translation>Sie wurde geholt, bevor alle zu einer früheren zurückgingen.</translation>
  </message>
  <message>
   <source>It was kept as {name}. Start Potluck again to begin a new collaboration.</source>
   <translation>Es wurde als {name} aufgehoben. Ein neuer Start von Potluck beginnt ein neues Projekt.</translation>
  </message>
  <message>
   <source>It was kept as {name}; start again for a new one.</source>
   <translation>Er wurde als {name} aufgehoben; ein neuer Start macht einen neuen.</translation>
  </message>
  <message>
   <source>It was not installed.</source>
   <translation>Es wurde nicht installiert.</translation>
  </message>
  <message>
   <source>It was not kept: you have two newer proposals open, or something else was decided.</source>
   <translation>Es wurde nicht aufgehoben: Zwei neuere eigene Vorschläge sind offen, oder etwas anderes wurde entschieden.</translation>
  </message>
  <message>
   <source>It works well as it is. Connections would start a little faster with</source>
   <translation>So geht es gut. Verbindungen kämen etwas schneller zustande mit</translation>
  </message>
  <message>
   <source>It works well as it is. With UPnP in the router, connections would start a little faster.</source>
   <translation>So funktioniert es gut. Mit UPnP im Router kämen Verbindungen etwas schneller zustande.</translation>
  </message>
  <message>
   <source>Its &amp;licence</source>
   <translation>&amp;Lizenz</translation>
  </message>
  <message>
   <source>Its icon beside the clock brings the window back.</source>
   <translation>Das Symbol neben der Uhr holt das Fenster zurück.</translation>
  </message>
  <message>
   <source>Its keys lie in {folder}. Keep a copy of that folder: without them nobody can be let in any more.</source>
   <translation>Seine Schlüssel liegen in {folder}. Eine Kopie dieses Ordners aufheben: Ohne sie kommt niemand mehr herein.</translation>
  </message>
  <message>
   <source>Its learning rate may be too high.</source>
   <translation>Vielleicht ist die Lernrate zu hoch.</translation>
  </message>
  <message>
   <source>Its lines begin with: Public key</source>
   <translation>Seine Zeilen beginnen mit: Public key</translation>
  </message>
  <message>
   <source>Its link is forgotten then, its files stay.</source>
   <translation>Der Link wird dann vergessen, die Dateien bleiben.</translation>
  </message>
  <message>
   <source>Its moderators let nobody new in.</source>
   <translation>Die Moderation lässt niemand Neues herein.</translation>
  </message>
  <message>
   <source>Its name</source>
   <translation>Name</translation>
  </message>
  <message>
   <source>Its numbers are not finite.</source>
   <translation>Seine Zahlen sind nicht endlich.</translation>
  </message>
  <message>
   <source>Its organiser starts it with --site, and writes its address into ways.toml.</source>
   <translation>Die Leitung startet ihn mit --site und schreibt die Adresse der Seite in ways.toml.</translation>
  </message>
  <message>
   <source>Join a collaboration</source>
   <translation>Einem Projekt beitreten</translation>
  </message>
  <message>
   <source>Join again to fetch it anew.</source>
   <translation>Noch einmal beitreten, um sie neu zu holen.</translation>
  </message>
  <message>
   <source>Join again with the organiser's link.</source>
   <translation>Mit dem Link der Leitung neu beitreten.</translation>
  </message>
  <message>
   <source>Join again.</source>
   <translation>Noch einmal beitreten.</translation>
  </message>
  <message>
   <source>Join another…</source>
   <translation>Woanders mitmachen…</translation>
  </message>
  <message>
   <source>Join one with its link: in the window, or with potluck join LINK. Alone: potluck demo --headless</source>
   <translation>Einem beitreten mit seinem Link: im Fenster, oder mit potluck join LINK. Allein: potluck demo --headless</translation>
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
   <source>Last 7 days</source>
   <translation>Letzte 7 Tage</translation>
  </message>
  <message>
   <source>Layer {layer} has no expert at all, so nothing comes through the model.</source>
   <translation>Schicht {layer} hat gar keinen Experten, also kommt nichts durch das Modell.</translation>
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
   <source>Leave it out for a language that is not among them.</source>
   <translation>Es weglassen bei einer Sprache, die nicht darunter ist.</translation>
  </message>
  <message>
   <source>Leave it out.</source>
   <translation>Bitte weglassen.</translation>
  </message>
  <message>
   <source>Leave it out: it is damaged, or made to do harm.</source>
   <translation>Sie weglassen: Sie ist beschädigt oder soll Schaden anrichten.</translation>
  </message>
  <message>
   <source>Leave one of them out.</source>
   <translation>Eines davon weglassen.</translation>
  </message>
  <message>
   <source>Leave the comma out. {advice}</source>
   <translation>Das Komma weglassen. {advice}</translation>
  </message>
  <message>
   <source>Leave the others out.</source>
   <translation>Die anderen weglassen.</translation>
  </message>
  <message>
   <source>Leave the table [experts] out.</source>
   <translation>Die Tabelle [experts] weglassen.</translation>
  </message>
  <message>
   <source>Leave this collaboration?</source>
   <translation>Dieses Projekt verlassen?</translation>
  </message>
  <message>
   <source>Leave tokenizer out of the recipe.</source>
   <translation>tokenizer im Rezept weglassen.</translation>
  </message>
  <message>
   <source>Leave tokenizer out.</source>
   <translation>Bitte tokenizer weglassen.</translation>
  </message>
  <message>
   <source>Leave words out that are far from the blanks.</source>
   <translation>Wörter weglassen, die weit von den Lücken weg sind.</translation>
  </message>
  <message>
   <source>Leave {collaboration}?</source>
   <translation>{collaboration} verlassen?</translation>
  </message>
  <message>
   <source>Leave…</source>
   <translation>Verlassen…</translation>
  </message>
  <message>
   <source>Left</source>
   <translation>Verlassen</translation>
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
   <translation>Ausgelassen: {name}, das nicht ist, was die Leitung unterschrieben hat.</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which this computer may not read.</source>
   <translation>Ausgelassen: {name}, das dieser Rechner nicht lesen darf.</translation>
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
   <source>Let Potluck train until a step has been taken, then try again.</source>
   <translation>Potluck trainieren lassen, bis ein Schritt getan ist, dann noch einmal versuchen.</translation>
  </message>
  <message>
   <source>Let what writes there come to its end, then cut them again, into an empty folder.</source>
   <translation>Zu Ende kommen lassen, was dort schreibt, dann sie noch einmal zerlegen, in einen leeren Ordner.</translation>
  </message>
  <message>
   <source>Let {closed} through at the same port: in the router's rule, or in the firewall of this computer.</source>
   <translation>Bitte {closed} am selben Port durchlassen: in der Regel des Routers oder in der Firewall dieses Rechners.</translation>
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
   <source>Link to hand on</source>
   <translation>Link zum Weitergeben</translation>
  </message>
  <message>
   <source>List all with: potluck invite --list --charter {folder}</source>
   <translation>Alle zeigt: potluck invite --list --charter {folder}</translation>
  </message>
  <message>
   <source>List people with: potluck people</source>
   <translation>Alle Mitwirkenden zeigt: potluck people</translation>
  </message>
  <message>
   <source>List them with: potluck account</source>
   <translation>Alle zeigt: potluck account</translation>
  </message>
  <message>
   <source>List them with: potluck copies</source>
   <translation>Eine Liste zeigt: potluck copies</translation>
  </message>
  <message>
   <source>List them with: potluck copies --charter DIR</source>
   <translation>Alle zeigt: potluck copies --charter DIR</translation>
  </message>
  <message>
   <source>List them with: potluck moderate</source>
   <translation>Alle zeigt: potluck moderate</translation>
  </message>
  <message>
   <source>List them with: potluck moderate copies</source>
   <translation>Sie stehen unter: potluck moderate copies</translation>
  </message>
  <message>
   <source>List them with: potluck requests</source>
   <translation>Alle zeigt: potluck requests</translation>
  </message>
  <message>
   <source>List those that hold with: {listing}</source>
   <translation>Die gültigen zeigt: {listing}</translation>
  </message>
  <message>
   <source>Loading the model</source>
   <translation>Das Modell wird geladen</translation>
  </message>
  <message>
   <source>Local steps cannot go on while a round is averaged, as this collaboration's manifest wants.</source>
   <translation>Lokale Schritte können nicht weitergehen, während eine Runde gemittelt wird, wie das Manifest dieses Projekts es will.</translation>
  </message>
  <message>
   <source>Look aroun&amp;d…</source>
   <translation>U&amp;msehen…</translation>
  </message>
  <message>
   <source>Look around</source>
   <translation>Sich umsehen</translation>
  </message>
  <message>
   <source>Look at it</source>
   <translation>Ansehen</translation>
  </message>
  <message>
   <source>Look at the lines above.</source>
   <translation>Die Zeilen darüber ansehen.</translation>
  </message>
  <message>
   <source>Look at the one that goes on…</source>
   <translation>Das Projekt ansehen, das weitergeht …</translation>
  </message>
  <message>
   <source>Look at what ssh says.</source>
   <translation>Ansehen, was ssh sagt.</translation>
  </message>
  <message>
   <source>Look at {name}</source>
   <translation>{name} ansehen</translation>
  </message>
  <message>
   <source>Look for newer versions once a &amp;day</source>
   <translation>Einmal am &amp;Tag nach neueren Versionen sehen</translation>
  </message>
  <message>
   <source>Look for one with: potluck update</source>
   <translation>Nachsehen mit: potluck update</translation>
  </message>
  <message>
   <source>Look into this computer, run programs on it, or have it do more than you allow: your hours and limits are kept by this program alone.</source>
   <translation>In diesen Rechner hineinsehen, Programme darauf ausführen oder ihn mehr tun lassen als erlaubt: Über Zeiten und Grenzen wacht allein dieses Programm.</translation>
  </message>
  <message>
   <source>Looked after b&amp;y</source>
   <translation>Betreut v&amp;on</translation>
  </message>
  <message>
   <source>Looking at this computer's addresses, and asking the router…</source>
   <translation>Die Adressen dieses Rechners werden angesehen, der Router wird gefragt…</translation>
  </message>
  <message>
   <source>Looking at this computer…</source>
   <translation>Dieser Rechner wird angesehen…</translation>
  </message>
  <message>
   <source>Looking for the others and for the newest state of the model.</source>
   <translation>Sucht die anderen und den neuesten Stand des Modells.</translation>
  </message>
  <message>
   <source>Looking where it is…</source>
   <translation>Es wird gesucht, wo er liegt…</translation>
  </message>
  <message>
   <source>Looking…</source>
   <translation>Wird nachgesehen…</translation>
  </message>
  <message>
   <source>Looks at network, clock, disk, devices and more. It takes some seconds.</source>
   <translation>Prüft Netzwerk, Uhr, Festplatte, Geräte und mehr. Das dauert einige Sekunden.</translation>
  </message>
  <message>
   <source>Lower the threshold, or add moderators first.</source>
   <translation>Die nötige Zahl senken, oder erst die Moderation vergrößern.</translation>
  </message>
  <message>
   <source>Make it, or name another file.</source>
   <translation>Ihn anlegen, oder eine andere Datei nennen.</translation>
  </message>
  <message>
   <source>Make one with the right to write, and set {token}, or keep it: keyring set {service} {entry}</source>
   <translation>Eines mit Schreibrecht machen und {token} setzen, oder es aufbewahren: keyring set {service} {entry}</translation>
  </message>
  <message>
   <source>Make one with: potluck backup</source>
   <translation>Eine Sicherung macht: potluck backup</translation>
  </message>
  <message>
   <source>May Potluck use this computer?</source>
   <translation>Darf Potluck diesen Rechner nutzen?</translation>
  </message>
  <message>
   <source>May compute</source>
   <translation>Darf rechnen</translation>
  </message>
  <message>
   <source>Mbit/s</source>
   <translation>Mbit/s</translation>
  </message>
  <message>
   <source>Measure w&amp;hat the model can do now</source>
   <translation>Jetzt messen, &amp;was das Modell kann</translation>
  </message>
  <message>
   <source>Measuring it on text that it never learns from</source>
   <translation>Es wird an Text gemessen, aus dem es nie lernt</translation>
  </message>
  <message>
   <source>Memor&amp;y, at most</source>
   <translation>Speicher, h&amp;öchstens</translation>
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
   <source>Mistakes on what it has never seen</source>
   <translation>Fehler bei Unbekanntem</translation>
  </message>
  <message>
   <source>Mistakes on what it learns from</source>
   <translation>Fehler beim Gelernten</translation>
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
   <source>More moderators would have to agree than there are.</source>
   <translation>Es müssten mehr zustimmen, als es in der Moderation gibt.</translation>
  </message>
  <message>
   <source>Most records of {name} cannot be read; the first is {why}.</source>
   <translation>Die meisten Einträge von {name} lassen sich nicht lesen; der erste ist {why}.</translation>
  </message>
  <message>
   <source>Move it, or give the command in another folder.</source>
   <translation>Es verschieben, oder den Befehl in einem anderen Ordner geben.</translation>
  </message>
  <message>
   <source>Move those away; or move {index_file} and the shards away, so that the others are cut.</source>
   <translation>Diese woanders hinlegen; oder {index_file} und die Stücke woanders hinlegen, damit die anderen zerlegt werden.</translation>
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
   <source>My computers</source>
   <translation>Eigene Rechner</translation>
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
   <source>Name a file elsewhere.</source>
   <translation>Bitte eine Datei an einem anderen Ort nennen.</translation>
  </message>
  <message>
   <source>Name a file, or one of those that come along: {names}.</source>
   <translation>Eine Datei nennen, oder eines von denen, die dabei sind: {names}.</translation>
  </message>
  <message>
   <source>Name a file, or one that comes along: {names}.</source>
   <translation>Eine Datei nennen, oder eines, das dabei ist: {names}.</translation>
  </message>
  <message>
   <source>Name a folder elsewhere.</source>
   <translation>Bitte einen Ordner an einem anderen Ort nennen.</translation>
  </message>
  <message>
   <source>Name a folder that holds text files.</source>
   <translation>Einen Ordner mit Textdateien nennen.</translation>
  </message>
  <message>
   <source>Name a folder with config.json, model.safetensors and tokenizer.json, as save_pretrained writes them.</source>
   <translation>Einen Ordner mit config.json, model.safetensors und tokenizer.json nennen, wie save_pretrained sie schreibt.</translation>
  </message>
  <message>
   <source>Name a folder, a URL, or hf://datasets/OWNER/NAME; of shards that were cut, the index is enough.</source>
   <translation>Einen Ordner, eine URL oder hf://datasets/OWNER/NAME nennen; von geschnittenen Stücken genügt das Verzeichnis.</translation>
  </message>
  <message>
   <source>Name a folder, a file, a URL, or python-docs.</source>
   <translation>Einen Ordner, eine Datei, eine URL oder python-docs nennen.</translation>
  </message>
  <message>
   <source>Name a folder, or a URL of fsspec.</source>
   <translation>Bitte einen Ordner nennen, oder eine URL von fsspec.</translation>
  </message>
  <message>
   <source>Name a folder, or an address that fsspec knows.</source>
   <translation>Einen Ordner nennen, oder eine Adresse, die fsspec kennt.</translation>
  </message>
  <message>
   <source>Name a host such as texts.org, s3://BUCKET, or hub.</source>
   <translation>Einen Rechner wie texts.org nennen, s3://BUCKET oder hub.</translation>
  </message>
  <message>
   <source>Name a server there by its address in numbers, as in http://192.168.1.7/texts.txt</source>
   <translation>Einen Server dort mit seiner Adresse in Zahlen nennen, etwa http://192.168.1.7/texts.txt</translation>
  </message>
  <message>
   <source>Name an address that begins with http://, or a file or program with its folders: {example}.</source>
   <translation>Eine Adresse nennen, die mit http:// beginnt, oder eine Datei oder ein Programm mit seinen Ordnern: {example}.</translation>
  </message>
  <message>
   <source>Name another file.</source>
   <translation>Bitte eine andere Datei nennen.</translation>
  </message>
  <message>
   <source>Name another folder, or delete what is in it.</source>
   <translation>Einen anderen Ordner nennen, oder löschen, was darin ist.</translation>
  </message>
  <message>
   <source>Name another folder; it is made if it is not there.</source>
   <translation>Einen anderen Ordner nennen; er wird angelegt, wenn es ihn nicht gibt.</translation>
  </message>
  <message>
   <source>Name another source, or another column.</source>
   <translation>Eine andere Quelle nennen, oder eine andere Spalte.</translation>
  </message>
  <message>
   <source>Name another source, or mend it: text is UTF-8, or UTF-16 with its byte order mark.</source>
   <translation>Eine andere Quelle nennen, oder sie berichtigen: Text ist UTF-8, oder UTF-16 mit Byte-Reihenfolge-Marke.</translation>
  </message>
  <message>
   <source>Name another source.</source>
   <translation>Eine andere Quelle nennen.</translation>
  </message>
  <message>
   <source>Name at most {most} programs.</source>
   <translation>Bitte höchstens {most} Programme nennen.</translation>
  </message>
  <message>
   <source>Name each device once.</source>
   <translation>Jedes Gerät einmal nennen.</translation>
  </message>
  <message>
   <source>Name fewer values.</source>
   <translation>Weniger Werte nennen.</translation>
  </message>
  <message>
   <source>Name fewer with --host.</source>
   <translation>Weniger davon mit --host nennen.</translation>
  </message>
  <message>
   <source>Name it as the system's list of running programs does: blender, steam.</source>
   <translation>So nennen wie die Liste der laufenden Programme des Systems: blender, steam.</translation>
  </message>
  <message>
   <source>Name it from the top or from your home folder, as in {example}.</source>
   <translation>Von ganz oben oder vom eigenen Ordner an nennen, wie in {example}.</translation>
  </message>
  <message>
   <source>Name it with --text.</source>
   <translation>Ihn mit --text nennen.</translation>
  </message>
  <message>
   <source>Name its address.</source>
   <translation>Seine Adresse nennen.</translation>
  </message>
  <message>
   <source>Name its folder.</source>
   <translation>Bitte dessen Ordner nennen.</translation>
  </message>
  <message>
   <source>Name one by how its id begins, such as {id}.</source>
   <translation>Bitte eines mit dem Anfang seiner Kennung nennen, etwa {id}.</translation>
  </message>
  <message>
   <source>Name one with --index, or the charter with --charter.</source>
   <translation>Eines mit --index nennen, oder den Projektordner mit --charter.</translation>
  </message>
  <message>
   <source>Name one, or a URL.</source>
   <translation>Einen nennen, oder eine URL.</translation>
  </message>
  <message>
   <source>Name or &amp;address</source>
   <translation>Name oder &amp;Adresse</translation>
  </message>
  <message>
   <source>Name or address</source>
   <translation>Name oder Adresse</translation>
  </message>
  <message>
   <source>Name other filters, or another source.</source>
   <translation>Andere Filter nennen, oder eine andere Quelle.</translation>
  </message>
  <message>
   <source>Name the file of a backup.</source>
   <translation>Bitte die Datei einer Sicherung nennen.</translation>
  </message>
  <message>
   <source>Name the file or the address of a list.</source>
   <translation>Die Datei oder die Adresse einer Liste nennen.</translation>
  </message>
  <message>
   <source>Name the file or the address of one.</source>
   <translation>Datei oder Adresse einer Liste nennen.</translation>
  </message>
  <message>
   <source>Name the folder in which the files lie.</source>
   <translation>Den Ordner nennen, in dem die Dateien liegen.</translation>
  </message>
  <message>
   <source>Name the folder of a collaboration: it holds {manifest} and {authority}.</source>
   <translation>Den Ordner eines Projekts nennen: Er enthält {manifest} und {authority}.</translation>
  </message>
  <message>
   <source>Name the folder of receipts of one collaboration.</source>
   <translation>Den Ordner mit den Quittungen eines Projekts nennen.</translation>
  </message>
  <message>
   <source>Name the folder of the collaboration with --charter.</source>
   <translation>Den Projektordner mit --charter nennen.</translation>
  </message>
  <message>
   <source>Name the folder that `potluck data cut` has made for it.</source>
   <translation>Den Ordner nennen, den `potluck data cut` dafür gemacht hat.</translation>
  </message>
  <message>
   <source>Name the index itself with --index.</source>
   <translation>Das Verzeichnis selbst mit --index nennen.</translation>
  </message>
  <message>
   <source>Name the one that the shards are in, or a URL.</source>
   <translation>Den nennen, in dem die Stücke sind, oder eine URL.</translation>
  </message>
  <message>
   <source>Name the page, or a file with its lines.</source>
   <translation>Bitte die Seite nennen, oder eine Datei mit ihren Zeilen.</translation>
  </message>
  <message>
   <source>Name the right one with --{what} NAME, in a recipe with {what} = "NAME".</source>
   <translation>Die richtige Angabe mit --{what} NAME nennen, in einem Rezept mit {what} = "NAME".</translation>
  </message>
  <message>
   <source>Name their collaboration with --join, and give it memory with --averaging-memory.</source>
   <translation>Ihr Projekt mit --join nennen, und ihm mit --averaging-memory Speicher geben.</translation>
  </message>
  <message>
   <source>Name with --text a folder of idx files, such as train-images-idx3-ubyte with train-labels-idx1-ubyte beside it.</source>
   <translation>Mit --text einen Ordner von idx-Dateien nennen, etwa train-images-idx3-ubyte und daneben train-labels-idx1-ubyte.</translation>
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
   <source>Newer versions</source>
   <translation>Neuere Versionen</translation>
  </message>
  <message>
   <source>Newer versions come the way it came: with apt upgrade, for example, or with git pull.</source>
   <translation>Neuere Versionen kommen auf demselben Weg wie es selbst: zum Beispiel mit apt upgrade oder mit git pull.</translation>
  </message>
  <message>
   <source>Newer versions could not be looked for.</source>
   <translation>Nach neueren Versionen konnte nicht gesehen werden.</translation>
  </message>
  <message>
   <source>Next try in {seconds} s.</source>
   <translation>Nächster Versuch in {seconds} s.</translation>
  </message>
  <message>
   <source>No backbone answers at {where}.</source>
   <translation>Unter {where} antwortet kein Stützpunkt.</translation>
  </message>
  <message>
   <source>No backbone answers at {where}. This computer takes part by the pass that it has, which holds until {until}, and asks on.</source>
   <translation>Kein Stützpunkt antwortet bei {where}. Dieser Rechner macht mit dem Ausweis mit, den er hat und der bis {until} gilt, und fragt weiter.</translation>
  </message>
  <message>
   <source>No backbone has told of any yet.</source>
   <translation>Noch hat kein Stützpunkt von einer berichtet.</translation>
  </message>
  <message>
   <source>No backbone is called {words}.</source>
   <translation>Kein Stützpunkt heißt {words}.</translation>
  </message>
  <message>
   <source>No backbone of this collaboration has signed this question.</source>
   <translation>Kein Stützpunkt dieses Projekts hat diese Frage unterschrieben.</translation>
  </message>
  <message>
   <source>No backbone or volunteer that is here has the text. They are asked again in {seconds} s.</source>
   <translation>Kein Stützpunkt und kein Mitglied, das gerade da ist, hat den Text. In {seconds} s wird wieder gefragt.</translation>
  </message>
  <message>
   <source>No collaboration is called {name}.</source>
   <translation>Kein Projekt heißt {name}.</translation>
  </message>
  <message>
   <source>No company yet?</source>
   <translation>Noch niemand da?</translation>
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
   <source>No engine runs on {computer}.</source>
   <translation>Auf {computer} läuft kein Dienst.</translation>
  </message>
  <message>
   <source>No expert of the model lives here: each takes {size} of memory, and too little is free.</source>
   <translation>Kein Experte des Modells wohnt hier: Jeder braucht {size} Speicher, und so viel ist nicht frei.</translation>
  </message>
  <message>
   <source>No expert of the model lives here: each takes {size} of memory, and training may take {most}.</source>
   <translation>Kein Experte des Modells wohnt hier: Jeder braucht {size} Speicher, und das Training darf {most} nehmen.</translation>
  </message>
  <message>
   <source>No folder of a web server can be listed. Name a file, or many whose names count, as those of a cut do: https://.../{00000..00127}.jsonl.zst</source>
   <translation>Kein Ordner eines Webservers lässt sich auflisten. Eine Datei nennen, oder viele, deren Namen zählen, wie nach dem Zerlegen: https://.../{00000..00127}.jsonl.zst</translation>
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
   <source>No list of collaborations comes with this Potluck.</source>
   <translation>Mit diesem Potluck kommt keine Liste von Projekten.</translation>
  </message>
  <message>
   <source>No member has signed this request.</source>
   <translation>Kein Mitglied hat diese Anfrage unterschrieben.</translation>
  </message>
  <message>
   <source>No moderator has signed this request.</source>
   <translation>Diese Anfrage hat niemand aus der Moderation unterschrieben.</translation>
  </message>
  <message>
   <source>No page answers at {site}.</source>
   <translation>Unter {site} antwortet keine Seite.</translation>
  </message>
  <message>
   <source>No place that pip asks has {name} {version} for this computer, or none answers.</source>
   <translation>Keine Stelle, die pip fragt, hat {name} {version} für diesen Rechner, oder keine antwortet.</translation>
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
   <source>No proposal is called {words}.</source>
   <translation>Kein Vorschlag heißt {words}.</translation>
  </message>
  <message>
   <source>No recipe is named.</source>
   <translation>Es ist kein Rezept genannt.</translation>
  </message>
  <message>
   <source>No router is in the way, so a firewall is: allow Potluck in the firewall of this computer.</source>
   <translation>Kein Router ist im Weg, also ist es eine Firewall: Potluck in der Firewall dieses Rechners erlauben.</translation>
  </message>
  <message>
   <source>No shard of this collaboration lies in {folder}.</source>
   <translation>In {folder} liegt kein Stück dieses Projekts.</translation>
  </message>
  <message>
   <source>No source is named.</source>
   <translation>Es ist keine Quelle genannt.</translation>
  </message>
  <message>
   <source>No training process runs.</source>
   <translation>Es läuft kein Trainingsprozess.</translation>
  </message>
  <message>
   <source>Nobody came in so, or all who did are shut out already.</source>
   <translation>Niemand kam so herein, oder alle, die es taten, sind schon ausgeschlossen.</translation>
  </message>
  <message>
   <source>Nobody can be asked here: {question}</source>
   <translation>Hier lässt sich niemand fragen: {question}</translation>
  </message>
  <message>
   <source>Nobody has called port {port} yet: it takes two others who can be called themselves. {reach}</source>
   <translation>Noch hat niemand Port {port} gerufen: Es braucht zwei andere, die selbst gerufen werden können. {reach}</translation>
  </message>
  <message>
   <source>Nobody has touched this computer for {seconds} s.</source>
   <translation>Diesen Rechner hat seit {seconds} s niemand berührt.</translation>
  </message>
  <message>
   <source>Nobody here is called {who}.</source>
   <translation>Hier heißt niemand {who}.</translation>
  </message>
  <message>
   <source>Nobody here is called {words}.</source>
   <translation>Niemand heißt hier {words}.</translation>
  </message>
  <message>
   <source>Nobody is known here yet.</source>
   <translation>Hier ist noch niemand bekannt.</translation>
  </message>
  <message>
   <source>Nobody new can come in to {name} then. Those who are in train on for 4 days, and longer once it runs again.</source>
   <translation>Dann kommt niemand Neues zu {name}. Wer dabei ist, trainiert 4 Tage weiter, und länger, sobald der Stützpunkt wieder läuft.</translation>
  </message>
  <message>
   <source>Nobody new is let in at present.</source>
   <translation>Zurzeit kommt niemand neu herein.</translation>
  </message>
  <message>
   <source>Nobody publishes updates of this Potluck.</source>
   <translation>Für dieses Potluck veröffentlicht niemand Aktualisierungen.</translation>
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
   <source>Nobody waits under the number {number}.</source>
   <translation>Unter der Nummer {number} wartet niemand.</translation>
  </message>
  <message>
   <source>Nobody who is meant is shut out.</source>
   <translation>Niemand von den Gemeinten ist ausgeschlossen.</translation>
  </message>
  <message>
   <source>Nobody would be left who can decide.</source>
   <translation>Niemand bliebe übrig, der entscheiden kann.</translation>
  </message>
  <message>
   <source>Nobody would be left who gives passes.</source>
   <translation>Dann gäbe niemand mehr Ausweise aus.</translation>
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
   <source>None of these runs has come to its end.</source>
   <translation>Keiner dieser Läufe ist zu Ende gekommen.</translation>
  </message>
  <message>
   <source>None of your computers gets a pass any more; the others stop within some hours. Your name leaves the board, and nobody else gets it; what you gave stays in the model, without a name. This cannot be taken back. If you signed in with a browser, take your account out there as well.</source>
   <translation>Keiner der eigenen Rechner bekommt mehr einen Ausweis; die anderen hören innerhalb einiger Stunden auf. Der Name verschwindet von der Rangliste, und niemand sonst bekommt ihn; der Beitrag bleibt im Modell, ohne Namen. Das lässt sich nicht rückgängig machen. Wer sich im Browser angemeldet hat, sollte das Konto auch dort austragen.</translation>
  </message>
  <message>
   <source>None of your computers is called {words}.</source>
   <translation>Keiner der eigenen Rechner heißt {words}.</translation>
  </message>
  <message>
   <source>Nor&amp;mal</source>
   <translation>Nor&amp;mal</translation>
  </message>
  <message>
   <source>Norm</source>
   <translation>Norm</translation>
  </message>
  <message>
   <source>Norm and cosine compare somebody's parts with the others', where this computer averaged them. Few samples alone make a part long, and its direction unlike the others'. They prove nothing by themselves.</source>
   <translation>Norm und Kosinus vergleichen die Teile einer Person mit denen der anderen, wo dieser Rechner sie gemittelt hat. Schon wenige Beispiele machen einen Teil lang und seine Richtung anders als die der anderen. Für sich beweisen sie nichts.</translation>
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
   <source>Not reached</source>
   <translation>Nicht erreicht</translation>
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
   <source>Nothing can be read there. {why}</source>
   <translation>Dort lässt sich nichts lesen. {why}</translation>
  </message>
  <message>
   <source>Nothing has changed: you have signed that, or something else was decided meanwhile.</source>
   <translation>Nichts hat sich geändert: Die eigene Unterschrift war schon da, oder inzwischen wurde etwas anderes entschieden.</translation>
  </message>
  <message>
   <source>Nothing has to be done: the key is then kept in a file that only you can read.</source>
   <translation>Es ist nichts zu tun: Der Schlüssel liegt dann in einer Datei, die nur das eigene Benutzerkonto lesen kann.</translation>
  </message>
  <message>
   <source>Nothing in this source passes the filters.</source>
   <translation>Nichts in dieser Quelle kommt durch die Filter.</translation>
  </message>
  <message>
   <source>Nothing of Potluck</source>
   <translation>Nichts von Potluck</translation>
  </message>
  <message>
   <source>Nothing of Potluck starts when you log in.</source>
   <translation>Beim Anmelden startet nichts von Potluck.</translation>
  </message>
  <message>
   <source>Nothing of it is kept then; your texts stay as they are.</source>
   <translation>Dann bleibt nichts davon; die eigenen Texte bleiben, wie sie sind.</translation>
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
   <source>Nothing was lost. Free some space where {folder} lies; if Potluck has ended, start it again.</source>
   <translation>Nichts ging verloren. Platz schaffen, wo {folder} liegt; falls Potluck beendet ist, neu starten.</translation>
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
   <source>O&amp;pen the folder</source>
   <translation>Ordner ö&amp;ffnen</translation>
  </message>
  <message>
   <source>Of the receipts, {count} could not be read and are left out.</source>
   <translation>{count} der Quittungen waren nicht lesbar und sind weggelassen.</translation>
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
   <source>Once a &amp;week, what you gave</source>
   <translation>Einmal in der &amp;Woche der eigene Beitrag</translation>
  </message>
  <message>
   <source>One moderator can hold {most} computers at a time.</source>
   <translation>Eine Person der Moderation kann {most} Rechner zugleich auf Zeit sperren.</translation>
  </message>
  <message>
   <source>One month</source>
   <translation>Ein Monat</translation>
  </message>
  <message>
   <source>Only computers in your home can come in: your provider, or a second router, shares one address among several homes. A provider with IPv6, or a rented server, would change that.</source>
   <translation>Nur Rechner im eigenen Heimnetz kommen herein: Der Anbieter oder ein zweiter Router teilt eine Adresse unter mehreren Haushalten. Ein Anbieter mit IPv6 oder ein gemieteter Server würde das ändern.</translation>
  </message>
  <message>
   <source>Only computers in your home can come in: your router opens no port by itself. Allow UPnP in the router, and look again; or forward the two ports that are told in the end, and name the address that others call.</source>
   <translation>Nur Rechner im eigenen Heimnetz kommen herein: Der Router öffnet von selbst keinen Port. Im Router UPnP erlauben und noch einmal nachsehen; oder die zwei Ports weiterleiten, die am Ende genannt werden, und die Adresse nennen, die andere aufrufen.</translation>
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
   <source>Only they can let you in again: ask the organiser.</source>
   <translation>Nur sie kann das ändern: die Leitung fragen.</translation>
  </message>
  <message>
   <source>Only while &amp;nobody uses it</source>
   <translation>Nur wenn ihn &amp;niemand benutzt</translation>
  </message>
  <message>
   <source>Open a list of collaborations that take in anybody.</source>
   <translation>Eine Liste von Projekten öffnen, die alle aufnehmen.</translation>
  </message>
  <message>
   <source>Open the b&amp;rowser</source>
   <translation>B&amp;rowser öffnen</translation>
  </message>
  <message>
   <source>Open the link again to sign in, or ask the organiser for one with an invitation.</source>
   <translation>Den Link noch einmal öffnen, um sich anzumelden, oder die Leitung um einen mit Einladung bitten.</translation>
  </message>
  <message>
   <source>Open the moderators' pages in the browser</source>
   <translation>Die Seiten der Moderation im Browser öffnen</translation>
  </message>
  <message>
   <source>Open this link in Potluck on your other computer, until {moment}. Send it to nobody: the computer that opens it becomes yours, under your name.</source>
   <translation>Diesen Link in Potluck auf dem anderen Rechner öffnen, bis {moment}. Nicht weitergeben: Der Rechner, der ihn öffnet, gehört dann zum eigenen Konto, unter demselben Namen.</translation>
  </message>
  <message>
   <source>Or read this with a telephone, and sign in there.</source>
   <translation>Oder mit einem Telefon lesen und sich dort anmelden.</translation>
  </message>
  <message>
   <source>Organised by</source>
   <translation>Leitung</translation>
  </message>
  <message>
   <source>Other members have them in the folder shards of their Potluck home: bring those files here into one folder, and name it with --shards.</source>
   <translation>Andere Mitglieder haben sie im Ordner shards ihres Potluck-Ordners: diese Dateien hier in einen Ordner bringen und ihn mit --shards nennen.</translation>
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
   <source>Other volunteers are heard at port {port_now} now; port {port} counts from the next start.</source>
   <translation>Andere Mitwirkende hört dieser Rechner jetzt an Port {port_now}; Port {port} gilt ab dem nächsten Start.</translation>
  </message>
  <message>
   <source>Other volunteers are heard at port {port_now} now; the next start draws another.</source>
   <translation>Andere Mitwirkende hört dieser Rechner jetzt an Port {port_now}; der nächste Start lost einen anderen aus.</translation>
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
   <source>Others can come in wherever they can call this address.</source>
   <translation>Andere kommen überall herein, von wo sie diese Adresse erreichen.</translation>
  </message>
  <message>
   <source>Others could call with</source>
   <translation>Andere könnten rufen mit</translation>
  </message>
  <message>
   <source>Others could read what you type at {site}: its address does not begin with https.</source>
   <translation>Andere könnten mitlesen, was unter {site} eingegeben wird: Die Adresse beginnt nicht mit https.</translation>
  </message>
  <message>
   <source>Others on this computer can read the secrets in {file}.</source>
   <translation>Andere auf diesem Rechner können die Geheimnisse in {file} lesen.</translation>
  </message>
  <message>
   <source>Others {when} port {port} of this computer and got through over TCP, but not over UDP.</source>
   <translation>Andere {when} Port {port} dieses Rechners angerufen und kamen über TCP durch, aber nicht über UDP.</translation>
  </message>
  <message>
   <source>Others {when} port {port} of this computer and got through over UDP, but not over TCP. {reach}</source>
   <translation>Andere {when} Port {port} dieses Rechners und kamen über UDP durch, aber nicht über TCP. {reach}</translation>
  </message>
  <message>
   <source>Others {when} port {port} of this computer and got through, over TCP and UDP.</source>
   <translation>Andere {when} Port {port} dieses Rechners angerufen und kamen durch, über TCP und UDP.</translation>
  </message>
  <message>
   <source>Others {when} port {port} of this computer, and nobody got through. {reach}</source>
   <translation>Andere {when} Port {port} dieses Rechners, und niemand kam durch. {reach}</translation>
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
   <source>Parts of the model live on members' computers and answer the others: here up to {size} of memory more.</source>
   <translation>Teile des Modells wohnen bei den Mitgliedern und antworten den anderen: hier bis zu {size} Speicher zusätzlich.</translation>
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
   <source>Pause it</source>
   <translation>Anhalten</translation>
  </message>
  <message>
   <source>Pause the card {name}</source>
   <translation>Die Karte {name} anhalten</translation>
  </message>
  <message>
   <source>Paused</source>
   <translation>Angehalten</translation>
  </message>
  <message>
   <source>Paused by you</source>
   <translation>Von Hand angehalten</translation>
  </message>
  <message>
   <source>Paused by you until {moment}</source>
   <translation>Von Hand angehalten bis {moment}</translation>
  </message>
  <message>
   <source>Paused by you, as all cards are</source>
   <translation>Von Hand angehalten, wie alle Karten</translation>
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
   <source>Port {port} ({kind}), at which other computers call, {taken}.</source>
   <translation>Port {port} ({kind}), an dem andere Rechner anrufen, {taken}.</translation>
  </message>
  <message>
   <source>Port {port} cannot be used: {why}.</source>
   <translation>Port {port} ist nicht nutzbar: {why}.</translation>
  </message>
  <message>
   <source>Port {port} is free for TCP and UDP.</source>
   <translation>Port {port} ist frei für TCP und UDP.</translation>
  </message>
  <message>
   <source>Port {port} is used by another program.</source>
   <translation>Port {port} wird von einem anderen Programm benutzt.</translation>
  </message>
  <message>
   <source>PostgreSQL needs psycopg.</source>
   <translation>PostgreSQL braucht psycopg.</translation>
  </message>
  <message>
   <source>Potluck at home</source>
   <translation>Potluck zu Hause</translation>
  </message>
  <message>
   <source>Potluck begins anew.</source>
   <translation>Potluck beginnt von Neuem.</translation>
  </message>
  <message>
   <source>Potluck can work here: {all} checks, no problem.</source>
   <translation>Potluck kann hier arbeiten: {all} Prüfungen, kein Problem.</translation>
  </message>
  <message>
   <source>Potluck cannot read {scheme}:// addresses.</source>
   <translation>Adressen mit {scheme}:// kann Potluck nicht lesen.</translation>
  </message>
  <message>
   <source>Potluck does not answer</source>
   <translation>Potluck antwortet nicht</translation>
  </message>
  <message>
   <source>Potluck does not look for newer versions by itself.</source>
   <translation>Potluck sieht nicht von selbst nach neueren Versionen.</translation>
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
   <source>Potluck goes on as the new version after the present step.</source>
   <translation>Potluck läuft nach dem jetzigen Schritt als neue Version weiter.</translation>
  </message>
  <message>
   <source>Potluck goes on asking, and takes part as soon as a moderator says yes.</source>
   <translation>Potluck fragt weiter und nimmt teil, sobald die Moderation Ja sagt.</translation>
  </message>
  <message>
   <source>Potluck has stopped.</source>
   <translation>Potluck hat aufgehört.</translation>
  </message>
  <message>
   <source>Potluck is already running here.</source>
   <translation>Potluck läuft hier schon.</translation>
  </message>
  <message>
   <source>Potluck is already running.</source>
   <translation>Potluck läuft schon.</translation>
  </message>
  <message>
   <source>Potluck is already running. {problem}</source>
   <translation>Potluck läuft schon. {problem}</translation>
  </message>
  <message>
   <source>Potluck is being updated already.</source>
   <translation>Potluck wird schon aktualisiert.</translation>
  </message>
  <message>
   <source>Potluck is not running here. This window waits for it to start.</source>
   <translation>Potluck läuft hier nicht. Dieses Fenster wartet auf den Start.</translation>
  </message>
  <message>
   <source>Potluck is not running.</source>
   <translation>Potluck läuft nicht.</translation>
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
   <source>Potluck may not write to {folder}.</source>
   <translation>Potluck darf nicht nach {folder} schreiben.</translation>
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
   <source>Potluck met a mistake in itself. What happened is a text on this computer; nothing was sent.</source>
   <translation>In Potluck selbst ist ein Fehler aufgetreten. Was geschah, steht als Text auf diesem Rechner; nichts wurde gesendet.</translation>
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
   <source>Potluck runs here, and uses another key.</source>
   <translation>Potluck läuft hier und benutzt einen anderen Schlüssel.</translation>
  </message>
  <message>
   <source>Potluck runs, but does not say how others reach it. {why}</source>
   <translation>Potluck läuft, sagt aber nicht, wie andere es erreichen. {why}</translation>
  </message>
  <message>
   <source>Potluck runs. {told}</source>
   <translation>Potluck läuft. {told}</translation>
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
   <source>Potluck {running} is the newest version for this computer.</source>
   <translation>Potluck {running} ist die neueste Version für diesen Rechner.</translation>
  </message>
  <message>
   <source>Potluck {version}</source>
   <translation>Potluck {version}</translation>
  </message>
  <message>
   <source>Potluck {version} is here: the next start takes it, and {running} runs until then.</source>
   <translation>Potluck {version} ist hier: Der nächste Start nimmt es, und bis dahin läuft {running}.</translation>
  </message>
  <message>
   <source>Potluck {version} is here: this computer goes on with it after the present step.</source>
   <translation>Potluck {version} ist hier: Dieser Rechner macht nach dem jetzigen Schritt damit weiter.</translation>
  </message>
  <message>
   <source>Potluck {version} is there, and {running} runs.</source>
   <translation>Potluck {version} ist da, und {running} läuft.</translation>
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
   <source>Propose another list of moderators.</source>
   <translation>Eine andere Liste der Moderation vorschlagen.</translation>
  </message>
  <message>
   <source>Putting everyone's work into the model, {company}.</source>
   <translation>Die Arbeit aller kommt ins Modell, {company}.</translation>
  </message>
  <message>
   <source>QR code of the address, with the code</source>
   <translation>QR-Code der Adresse mit dem Code</translation>
  </message>
  <message>
   <source>QR code of the link</source>
   <translation>QR-Code des Links</translation>
  </message>
  <message>
   <source>Quit Potluck and repeat this: it is not used any more.</source>
   <translation>Potluck beenden und dies wiederholen: Er wird nicht mehr benutzt.</translation>
  </message>
  <message>
   <source>Quit Potluck, then in a terminal: pip uninstall potluck</source>
   <translation>Potluck beenden, dann in einem Terminal: pip uninstall potluck</translation>
  </message>
  <message>
   <source>Quit Potluck, then move it from Applications to the Bin.</source>
   <translation>Potluck beenden, dann aus „Programme“ in den Papierkorb legen.</translation>
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
   <source>Reading stopped: {error}</source>
   <translation>Das Lesen hat aufgehört: {error}</translation>
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
   <source>Reading the experts</source>
   <translation>Die Experten werden gelesen</translation>
  </message>
  <message>
   <source>Reading the list…</source>
   <translation>Die Liste wird gelesen…</translation>
  </message>
  <message>
   <source>Reading the model</source>
   <translation>Liest das Modell</translation>
  </message>
  <message>
   <source>Reading {scheme}:// takes the package {package}, which is not installed.</source>
   <translation>{scheme}:// zu lesen braucht das Paket {package}, das nicht installiert ist.</translation>
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
   <source>Recipe</source>
   <translation>Rezept</translation>
  </message>
  <message>
   <source>Refused</source>
   <translation>Abgewiesen</translation>
  </message>
  <message>
   <source>Refused the last time</source>
   <translation>Beim letzten Mal abgelehnt</translation>
  </message>
  <message>
   <source>Release one first, or ban them.</source>
   <translation>Erst eine Sperre aufheben, oder jemanden ausschließen.</translation>
  </message>
  <message>
   <source>Remove Potluck</source>
   <translation>Potluck entfernen</translation>
  </message>
  <message>
   <source>Remove one first, with --no-mirror.</source>
   <translation>Bitte zuerst einen entfernen, mit --no-mirror.</translation>
  </message>
  <message>
   <source>Remove one first.</source>
   <translation>Erst jemanden entfernen.</translation>
  </message>
  <message>
   <source>Remove the training part?</source>
   <translation>Den Trainingsteil entfernen?</translation>
  </message>
  <message>
   <source>Removing it…</source>
   <translation>Er wird entfernt…</translation>
  </message>
  <message>
   <source>Rename the folder.</source>
   <translation>Den Ordner umbenennen.</translation>
  </message>
  <message>
   <source>Report</source>
   <translation>Bericht</translation>
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
   <source>Rest the car&amp;d while these run</source>
   <translation>Die &amp;Karte ruht, solange diese laufen</translation>
  </message>
  <message>
   <source>Rest the card when they need more than</source>
   <translation>Karte ruht, wenn sie mehr brauchen als</translation>
  </message>
  <message>
   <source>Rest when a &amp;fan does more than</source>
   <translation>Ruht, wenn ein Lü&amp;fter mehr macht als</translation>
  </message>
  <message>
   <source>Rest when h&amp;otter than</source>
   <translation>Ruht, wenn &amp;heißer als</translation>
  </message>
  <message>
   <source>Rest when it is &amp;above</source>
   <translation>Ruht, wenn sie &amp;größer ist als</translation>
  </message>
  <message>
   <source>Rest when it is &amp;below</source>
   <translation>Ruht, wenn sie &amp;kleiner ist als</translation>
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
   <source>Restore a backup of it: potluck restore --help</source>
   <translation>Eine Sicherung davon zurückspielen: potluck restore --help</translation>
  </message>
  <message>
   <source>Restore a backup.</source>
   <translation>Bitte eine Sicherung zurückspielen.</translation>
  </message>
  <message>
   <source>Rests: Potluck is paused</source>
   <translation>Ruht: Potluck ist angehalten</translation>
  </message>
  <message>
   <source>Resume contributing, then try again.</source>
   <translation>Das Mitrechnen fortsetzen, dann noch einmal versuchen.</translation>
  </message>
  <message>
   <source>Resuming…</source>
   <translation>Geht weiter…</translation>
  </message>
  <message>
   <source>Retire one first.</source>
   <translation>Zuerst einen zur Ruhe setzen.</translation>
  </message>
  <message>
   <source>Role</source>
   <translation>Rolle</translation>
  </message>
  <message>
   <source>Roles by which nobody gives passes.</source>
   <translation>Eine Liste, nach der niemand Ausweise ausgibt.</translation>
  </message>
  <message>
   <source>Roles that do not follow those that are known.</source>
   <translation>Rollen, die nicht auf die bekannten folgen.</translation>
  </message>
  <message>
   <source>Rounds</source>
   <translation>Runden</translation>
  </message>
  <message>
   <source>Rows count from 0.</source>
   <translation>Zeilen zählen ab 0.</translation>
  </message>
  <message>
   <source>Rules about what the system does not tell stop nothing here: {rules}.</source>
   <translation>Regeln zu dem, was das System nicht sagt, halten hier nichts an: {rules}.</translation>
  </message>
  <message>
   <source>Rules of your own: none of the three.</source>
   <translation>Eigene Regeln: keine der drei.</translation>
  </message>
  <message>
   <source>S&amp;top it now</source>
   <translation>Sofort s&amp;toppen</translation>
  </message>
  <message>
   <source>SSH does not reach {computer}.</source>
   <translation>SSH erreicht {computer} nicht.</translation>
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
   <source>Say it in {letters} letters.</source>
   <translation>Es in {letters} Buchstaben sagen.</translation>
  </message>
  <message>
   <source>Say it in {most}.</source>
   <translation>Es in {most} sagen.</translation>
  </message>
  <message>
   <source>Say the days first, as in: {example}</source>
   <translation>Erst die Tage nennen, wie in: {example}</translation>
  </message>
  <message>
   <source>Say who is meant: a name or a key, or some of --invitation, --household and --since.</source>
   <translation>Sagen, wer gemeint ist: ein Name oder ein Schlüssel, oder etwas aus --invitation, --household und --since.</translation>
  </message>
  <message>
   <source>Say whom they are for: --yes N or --no N</source>
   <translation>Angeben, für wen sie sind: --yes N oder --no N</translation>
  </message>
  <message>
   <source>Say yes or no.</source>
   <translation>Mit yes oder no antworten.</translation>
  </message>
  <message>
   <source>Schedules count samples: write ..._samples.</source>
   <translation>Pläne zählen Beispiele: ..._samples schreiben.</translation>
  </message>
  <message>
   <source>See docs/organiser.md, Ways in.</source>
   <translation>Siehe docs/organiser.md, Ways in.</translation>
  </message>
  <message>
   <source>See it with: potluck status. Stop it with: potluck quit.</source>
   <translation>Ansehen mit: potluck status. Anhalten mit: potluck quit.</translation>
  </message>
  <message>
   <source>See that PostgreSQL runs there and lets Potluck in.</source>
   <translation>Dafür sorgen, dass PostgreSQL dort läuft und Potluck einlässt.</translation>
  </message>
  <message>
   <source>See that this computer's clock is right, and try again later or in another network.</source>
   <translation>Nachsehen, ob die Uhr dieses Rechners richtig geht, und es später oder in einem anderen Netz noch einmal versuchen.</translation>
  </message>
  <message>
   <source>See the recipes that come along.</source>
   <translation>Siehe die Rezepte, die dabei sind.</translation>
  </message>
  <message>
   <source>See them with: potluck collaborations</source>
   <translation>Zu sehen mit: potluck collaborations</translation>
  </message>
  <message>
   <source>See those of this computer with: potluck collaborations</source>
   <translation>Die dieses Rechners zeigt: potluck collaborations</translation>
  </message>
  <message>
   <source>See what can be had: potluck training-part show</source>
   <translation>Was es gibt, zeigt: potluck training-part show</translation>
  </message>
  <message>
   <source>See what happened</source>
   <translation>Ansehen, was geschah</translation>
  </message>
  <message>
   <source>See what holds with: potluck moderate</source>
   <translation>Was gilt, zeigt: potluck moderate</translation>
  </message>
  <message>
   <source>See: {prog} --help</source>
   <translation>Siehe: {prog} --help</translation>
  </message>
  <message>
   <source>Seen in</source>
   <translation>Gesehen in</translation>
  </message>
  <message>
   <source>Send it to those whom you invite, or let them scan it.</source>
   <translation>Ihn den Eingeladenen schicken oder scannen lassen.</translation>
  </message>
  <message>
   <source>Send this text to those who make Potluck, if you want it mended: they do not have it. Your folders and links are left out of it.</source>
   <translation>Wer den Fehler behoben haben möchte, schickt diesen Text denen, die Potluck machen: Sie haben ihn nicht. Eigene Ordner und Links stehen nicht darin.</translation>
  </message>
  <message>
   <source>Sending a model needs your token of the hub, and there is none.</source>
   <translation>Ein Modell zu senden braucht das eigene Token des Hubs, und es gibt keines.</translation>
  </message>
  <message>
   <source>Sending a model needs {name}, which is not installed.</source>
   <translation>Ein Modell zu senden braucht {name}, das nicht installiert ist.</translation>
  </message>
  <message>
   <source>Serve this</source>
   <translation>Hier mitmachen</translation>
  </message>
  <message>
   <source>Set the clock, then: potluck update</source>
   <translation>Die Uhr stellen, dann: potluck update</translation>
  </message>
  <message>
   <source>Set this computer's clock.</source>
   <translation>Die Uhr dieses Rechners stellen.</translation>
  </message>
  <message>
   <source>Set {token} to it anew.</source>
   <translation>{token} neu darauf setzen.</translation>
  </message>
  <message>
   <source>Settings</source>
   <translation>Einstellungen</translation>
  </message>
  <message>
   <source>Several collaborations are called {name}.</source>
   <translation>Mehrere Projekte heißen {name}.</translation>
  </message>
  <message>
   <source>Several runs come one after the other, so each needs an end.</source>
   <translation>Mehrere Läufe kommen nacheinander, darum braucht jeder ein Ende.</translation>
  </message>
  <message>
   <source>Several values are for: potluck train</source>
   <translation>Mehrere Werte sind für: potluck train</translation>
  </message>
  <message>
   <source>Shards are 0 to {count}.</source>
   <translation>Stücke gehen von 0 bis {count}.</translation>
  </message>
  <message>
   <source>Share</source>
   <translation>Anteil</translation>
  </message>
  <message>
   <source>Show &amp;what happened</source>
   <translation>Zeigen, &amp;was geschah</translation>
  </message>
  <message>
   <source>Sign</source>
   <translation>Unterschreiben</translation>
  </message>
  <message>
   <source>Sign &amp;out</source>
   <translation>A&amp;bmelden</translation>
  </message>
  <message>
   <source>Sign &amp;out of this computer…</source>
   <translation>Diesen Rechner abm&amp;elden…</translation>
  </message>
  <message>
   <source>Sign in</source>
   <translation>Anmelden</translation>
  </message>
  <message>
   <source>Sign in again after that, or ask the organiser.</source>
   <translation>Danach noch einmal anmelden, oder die Leitung fragen.</translation>
  </message>
  <message>
   <source>Sign in again another day.</source>
   <translation>An einem anderen Tag noch einmal anmelden.</translation>
  </message>
  <message>
   <source>Sign in again tomorrow.</source>
   <translation>Morgen noch einmal anmelden.</translation>
  </message>
  <message>
   <source>Sign in again, or use a link of another computer of yours, or another home (--home).</source>
   <translation>Noch einmal anmelden, oder einen Link eines anderen eigenen Rechners benutzen, oder ein anderes Verzeichnis (--home).</translation>
  </message>
  <message>
   <source>Sign in again, with the name as you first wrote it.</source>
   <translation>Noch einmal anmelden, mit dem Namen in der ersten Schreibweise.</translation>
  </message>
  <message>
   <source>Sign in again.</source>
   <translation>Noch einmal anmelden.</translation>
  </message>
  <message>
   <source>Sign in again; what was downloaded is kept.</source>
   <translation>Noch einmal anmelden; was heruntergeladen wurde, bleibt.</translation>
  </message>
  <message>
   <source>Sign in at {site} with this code:</source>
   <translation>Anmelden unter {site} mit diesem Code:</translation>
  </message>
  <message>
   <source>Sign out of this computer?</source>
   <translation>Diesen Rechner abmelden?</translation>
  </message>
  <message>
   <source>Sign: I am here</source>
   <translation>Unterschreiben: Ich bin da</translation>
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
   <source>Since you came it went from {before} to {now} {guesses} right.</source>
   <translation>Seit dem Beitritt stieg es von {before} auf {now} {guesses} richtig.</translation>
  </message>
  <message>
   <source>Since you came its loss went from {before} to {now}.</source>
   <translation>Seit dem Beitritt ging sein Verlust von {before} auf {now}.</translation>
  </message>
  <message>
   <source>Some may live nowhere yet: the more volunteers, the more live. To export without them, add --incomplete.</source>
   <translation>Manche wohnen vielleicht noch nirgends: Je mehr mitmachen, desto mehr sind da. Um ohne sie zu exportieren, --incomplete anhängen.</translation>
  </message>
  <message>
   <source>Some of the shards that {index} lists do not lie beside it, or have changed.</source>
   <translation>Einige der Stücke, die {index} nennt, liegen nicht daneben oder haben sich geändert.</translation>
  </message>
  <message>
   <source>Somebody has changed the files, or the disk has; do not count these receipts.</source>
   <translation>Jemand hat die Dateien geändert, oder die Festplatte hat es; diese Quittungen nicht zählen.</translation>
  </message>
  <message>
   <source>Somebody has said in the browser that this computer is not theirs.</source>
   <translation>Im Browser hat jemand gesagt, dass ihm dieser Rechner nicht gehört.</translation>
  </message>
  <message>
   <source>Somebody has tried to sign in too often from your address, or with your account.</source>
   <translation>Von dieser Adresse aus oder mit diesem Konto gab es zu viele Anmeldungen.</translation>
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
   <source>Somebody whom you trust may have a list: a file, or an address. Potluck has none of its own, and asks nobody before you open one.</source>
   <translation>Eine Person des Vertrauens hat vielleicht eine Liste: eine Datei oder eine Adresse. Potluck hat keine eigene und fragt niemanden, bevor eine geöffnet wird.</translation>
  </message>
  <message>
   <source>Something is missing here: {name}</source>
   <translation>Hier fehlt noch etwas: {name}</translation>
  </message>
  <message>
   <source>Something went wrong inside Potluck.</source>
   <translation>In Potluck ist etwas schiefgegangen.</translation>
  </message>
  <message>
   <source>Sources are 0 to {count}.</source>
   <translation>Quellen gehen von 0 bis {count}.</translation>
  </message>
  <message>
   <source>Start &amp;Potluck, hidden, when I log in</source>
   <translation>&amp;Potluck beim Anmelden ohne Fenster starten</translation>
  </message>
  <message>
   <source>Start Potluck again; the log {logs} says why.</source>
   <translation>Potluck neu starten; den Grund nennt das Protokoll {logs}.</translation>
  </message>
  <message>
   <source>Start again.</source>
   <translation>Neu starten.</translation>
  </message>
  <message>
   <source>Start it once with potluck backbone --charter {folder}, then stop it.</source>
   <translation>Ihn einmal mit potluck backbone --charter {folder} starten und wieder beenden.</translation>
  </message>
  <message>
   <source>Start it with: potluck</source>
   <translation>Starten mit: potluck</translation>
  </message>
  <message>
   <source>Start its backbone</source>
   <translation>Seinen Stützpunkt starten</translation>
  </message>
  <message>
   <source>Start one there with: potluck engine - or name its home with --far-home</source>
   <translation>Dort einen starten mit: potluck engine - oder seinen Ordner mit --far-home nennen</translation>
  </message>
  <message>
   <source>Start one with friends</source>
   <translation>Eines mit Freunden gründen</translation>
  </message>
  <message>
   <source>Start one with friends: the link</source>
   <translation>Mit Freunden gründen: der Link</translation>
  </message>
  <message>
   <source>Start one with friends: what to train</source>
   <translation>Mit Freunden gründen: was gelernt wird</translation>
  </message>
  <message>
   <source>Start one with friends: where it is reached</source>
   <translation>Mit Freunden gründen: wo es erreichbar ist</translation>
  </message>
  <message>
   <source>Start one with friends: who may join</source>
   <translation>Mit Freunden gründen: wer mitmachen darf</translation>
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
   <source>Step of the model that is asked</source>
   <translation>Schritt des Modells, das gefragt wird</translation>
  </message>
  <message>
   <source>Step {epoch} counted {weight} of this computer's {samples} samples: a computer that is new, or much faster than before, counts for more with each step, up to its share.</source>
   <translation>In Schritt {epoch} zählten {weight} der {samples} Beispiele dieses Rechners: Ein Rechner, der neu oder viel schneller als zuvor ist, zählt mit jedem Schritt mehr, bis zu seinem Anteil.</translation>
  </message>
  <message>
   <source>Step {epoch} led to another state than that of others.</source>
   <translation>Schritt {epoch} führte zu einem anderen Stand als bei den anderen.</translation>
  </message>
  <message>
   <source>Step {epoch} led to numbers that are not finite, so it was undone.</source>
   <translation>Schritt {epoch} führte zu unendlichen Zahlen und wurde zurückgenommen.</translation>
  </message>
  <message>
   <source>Step {epoch} was ordered after step {own}.</source>
   <translation>Nach Schritt {own} wurde Schritt {epoch} verlangt.</translation>
  </message>
  <message>
   <source>Step {epoch}, signed by {signed} of {members}.</source>
   <translation>Schritt {epoch}, unterschrieben von {signed} von {members}.</translation>
  </message>
  <message>
   <source>Step {epoch}: contributions that arrived only in part: {missing}.</source>
   <translation>Schritt {epoch}: Beiträge, die nur teilweise ankamen: {missing}.</translation>
  </message>
  <message>
   <source>Step {step}</source>
   <translation>Schritt {step}</translation>
  </message>
  <message>
   <source>Step {step} of {last}</source>
   <translation>Schritt {step} von {last}</translation>
  </message>
  <message>
   <source>Stop downloading?</source>
   <translation>Das Laden abbrechen?</translation>
  </message>
  <message>
   <source>Stop founding {name}?</source>
   <translation>Die Gründung von {name} abbrechen?</translation>
  </message>
  <message>
   <source>Stop it first, with: potluck quit</source>
   <translation>Bitte zuerst beenden mit: potluck quit</translation>
  </message>
  <message>
   <source>Stop it with: potluck quit</source>
   <translation>Anhalten mit: potluck quit</translation>
  </message>
  <message>
   <source>Stop its backbone…</source>
   <translation>Seinen Stützpunkt anhalten…</translation>
  </message>
  <message>
   <source>Stop the backbone of {name}?</source>
   <translation>Den Stützpunkt von {name} anhalten?</translation>
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
   <source>Ta&amp;ke it out</source>
   <translation>A&amp;ustragen</translation>
  </message>
  <message>
   <source>Ta&amp;ke my account out…</source>
   <translation>Konto a&amp;ustragen…</translation>
  </message>
  <message>
   <source>Take an earlier one.</source>
   <translation>Bitte eine frühere nehmen.</translation>
  </message>
  <message>
   <source>Take another index or network; if it stays so, tell the people who make Potluck.</source>
   <translation>Eine andere Quelle oder ein anderes Netz nehmen; bleibt es so, denen Bescheid geben, die Potluck machen.</translation>
  </message>
  <message>
   <source>Take another index, in pip's settings (PIP_INDEX_URL), or a folder: potluck training-part get --from FOLDER</source>
   <translation>Eine andere Quelle nehmen, in den Einstellungen von pip (PIP_INDEX_URL), oder einen Ordner: potluck training-part get --from ORDNER</translation>
  </message>
  <message>
   <source>Take four words or more that you draw by chance, {least} to {most} letters together.</source>
   <translation>Vier oder mehr zufällig gezogene Wörter nehmen, zusammen {least} bis {most} Zeichen.</translation>
  </message>
  <message>
   <source>Take part with: potluck join LINK, or try it out with: potluck demo</source>
   <translation>Mitmachen mit: potluck join LINK, oder ausprobieren mit: potluck demo</translation>
  </message>
  <message>
   <source>Take the one for the processor: potluck training-part get --build cpu</source>
   <translation>Die für den Prozessor nehmen: potluck training-part get --build cpu</translation>
  </message>
  <message>
   <source>Take your account out?</source>
   <translation>Das Konto austragen?</translation>
  </message>
  <message>
   <source>Taking part</source>
   <translation>Machen mit</translation>
  </message>
  <message>
   <source>Teams on the &amp;web…</source>
   <translation>Teams im &amp;Web …</translation>
  </message>
  <message>
   <source>Tell the organiser, and do not open it.</source>
   <translation>Der Leitung sagen und nicht öffnen.</translation>
  </message>
  <message>
   <source>Tell the organiser, or ask for a link with an invitation.</source>
   <translation>Der Leitung sagen, oder um einen Link mit Einladung bitten.</translation>
  </message>
  <message>
   <source>Tell the organiser, who has to cut the data again.</source>
   <translation>Der Leitung sagen, die die Daten neu zerlegen muss.</translation>
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
   <source>Thank you</source>
   <translation>Danke</translation>
  </message>
  <message>
   <source>That is as much as a fridge takes in {number} days.</source>
   <translation>Das ist so viel, wie ein Kühlschrank in {number} Tagen braucht.</translation>
  </message>
  <message>
   <source>That is as much as {number} charges of a phone take.</source>
   <translation>Das ist so viel wie {number} Ladungen eines Telefons.</translation>
  </message>
  <message>
   <source>That is not a valid password or token.</source>
   <translation>Das ist kein gültiges Passwort oder Token.</translation>
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
   <source>The &amp;training part…</source>
   <translation>Der &amp;Trainingsteil…</translation>
  </message>
  <message>
   <source>The Potluck that runs in the background is of another version. Restart it, or stop it with: potluck quit</source>
   <translation>Das Potluck im Hintergrund hat eine andere Version. Bitte neu starten, oder beenden mit: potluck quit</translation>
  </message>
  <message>
   <source>The Potluck that runs is of another version.</source>
   <translation>Das laufende Potluck hat eine andere Version.</translation>
  </message>
  <message>
   <source>The access pass could not be renewed: {problem}</source>
   <translation>Der Ausweis ließ sich nicht erneuern: {problem}</translation>
  </message>
  <message>
   <source>The access pass was not renewed: the backbone's clock is {time} {way} the time of all peers here. Tell the organiser.</source>
   <translation>Der Ausweis wurde nicht erneuert: Die Uhr des Stützpunkts weicht um {time} ab ({way} der Zeit aller anderen hier). Bitte der Leitung sagen.</translation>
  </message>
  <message>
   <source>The account could not be asked about.</source>
   <translation>Nach dem Konto ließ sich nicht fragen.</translation>
  </message>
  <message>
   <source>The address {where} in the link was passed over. {reason}</source>
   <translation>Die Adresse {where} im Link wurde übergangen. {reason}</translation>
  </message>
  <message>
   <source>The alphabet does not fit the numbers.</source>
   <translation>Das Alphabet passt nicht zu den Zahlen.</translation>
  </message>
  <message>
   <source>The averaged contribution holds numbers that are not finite, so it was refused.</source>
   <translation>Der gemittelte Beitrag enthält unendliche Zahlen, darum wurde er abgelehnt.</translation>
  </message>
  <message>
   <source>The backbone answered something unreadable ({status}).</source>
   <translation>Der Stützpunkt hat Unlesbares geantwortet ({status}).</translation>
  </message>
  <message>
   <source>The backbone answered {status} to {path}.</source>
   <translation>Der Stützpunkt hat auf {path} mit {status} geantwortet.</translation>
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
   <source>The backbone gives false lists of moderators.</source>
   <translation>Der Stützpunkt gibt falsche Listen der Moderation aus.</translation>
  </message>
  <message>
   <source>The backbone has lost its port to another program.</source>
   <translation>Der Stützpunkt hat seinen Port an ein anderes Programm verloren.</translation>
  </message>
  <message>
   <source>The backbone itself cannot be shut out.</source>
   <translation>Der Stützpunkt selbst kann nicht ausgeschlossen werden.</translation>
  </message>
  <message>
   <source>The backbone lets nobody in at present.</source>
   <translation>Der Stützpunkt lässt zurzeit niemanden ein.</translation>
  </message>
  <message>
   <source>The backbone names no address at which anybody could sign in.</source>
   <translation>Der Stützpunkt nennt keine Adresse, unter der eine Anmeldung möglich wäre.</translation>
  </message>
  <message>
   <source>The backbone offers another collaboration than the link names.</source>
   <translation>Der Stützpunkt bietet ein anderes Projekt an, als der Link nennt.</translation>
  </message>
  <message>
   <source>The backbone reads that copy.</source>
   <translation>Der Stützpunkt liest diese Kopie.</translation>
  </message>
  <message>
   <source>The backbone tells an address at which no page can be.</source>
   <translation>Der Stützpunkt nennt eine Adresse, an der keine Seite sein kann.</translation>
  </message>
  <message>
   <source>The backbone tells of another copy than was asked for.</source>
   <translation>Der Stützpunkt spricht von einer anderen Kopie als der, nach der gefragt wurde.</translation>
  </message>
  <message>
   <source>The backbone's answer to {path} is longer than {most} bytes.</source>
   <translation>Die Antwort des Stützpunkts auf {path} ist länger als {most} Byte.</translation>
  </message>
  <message>
   <source>The backbone's key is damaged.</source>
   <translation>Der Schlüssel des Stützpunkts ist beschädigt.</translation>
  </message>
  <message>
   <source>The backup {file} is damaged.</source>
   <translation>Die Sicherung {file} ist beschädigt.</translation>
  </message>
  <message>
   <source>The bars show who gave how much in the last 7 days.</source>
   <translation>Die Balken zeigen, wer in den letzten 7 Tagen wie viel beigetragen hat.</translation>
  </message>
  <message>
   <source>The bars show who gave how much since {day}, when this computer first saw the leaderboard.</source>
   <translation>Die Balken zeigen, wer seit {day} wie viel beigetragen hat; da sah dieser Rechner die Rangliste zum ersten Mal.</translation>
  </message>
  <message>
   <source>The battery holds less than {percent} %. Potluck continues when it is plugged in.</source>
   <translation>Der Akku hat weniger als {percent} %. Potluck macht weiter, wenn das Netzteil angeschlossen ist.</translation>
  </message>
  <message>
   <source>The browser shows the code as well: compare them before you let this computer in.</source>
   <translation>Der Browser zeigt den Code auch: beide vergleichen, bevor dieser Rechner zugelassen wird.</translation>
  </message>
  <message>
   <source>The build {build} is here, but does not start: {why}</source>
   <translation>Die Fassung {build} ist hier, startet aber nicht: {why}</translation>
  </message>
  <message>
   <source>The certificate of {name} is not valid: {why}.</source>
   <translation>Das Zertifikat von {name} ist nicht gültig: {why}.</translation>
  </message>
  <message>
   <source>The certificate request is not signed with the Ed25519 key that it names.</source>
   <translation>Die Zertifikatsanfrage ist nicht mit dem Ed25519-Schlüssel unterschrieben, den sie nennt.</translation>
  </message>
  <message>
   <source>The check could not be run. On the command line it is: potluck doctor</source>
   <translation>Die Prüfung ließ sich nicht ausführen. Auf der Befehlszeile heißt sie: potluck doctor</translation>
  </message>
  <message>
   <source>The checkpoint cannot be read: {error}.</source>
   <translation>Der Zwischenstand lässt sich nicht lesen: {error}.</translation>
  </message>
  <message>
   <source>The checkpoint {name} cannot be read: {error}.</source>
   <translation>Der Zwischenstand {name} lässt sich nicht lesen: {error}.</translation>
  </message>
  <message>
   <source>The checkpoint {name} holds another state than it should.</source>
   <translation>Der Zwischenstand {name} enthält einen anderen Stand, als er sollte.</translation>
  </message>
  <message>
   <source>The checkpoint {name} holds something else than this model's state.</source>
   <translation>Der Zwischenstand {name} enthält etwas anderes als den Stand dieses Modells.</translation>
  </message>
  <message>
   <source>The checkpoint {name} is not what was written.</source>
   <translation>Der Zwischenstand {name} ist nicht, was geschrieben wurde.</translation>
  </message>
  <message>
   <source>The checkpoint {name} is of another collaboration.</source>
   <translation>Der Zwischenstand {name} gehört zu einem anderen Projekt.</translation>
  </message>
  <message>
   <source>The checkpoint {name} is of another model.</source>
   <translation>Der Zwischenstand {name} gehört zu einem anderen Modell.</translation>
  </message>
  <message>
   <source>The checkpoint {name} was written by a newer version of Potluck.</source>
   <translation>Der Zwischenstand {name} wurde von einer neueren Version von Potluck geschrieben.</translation>
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
   <source>The code is copied.</source>
   <translation>Der Code ist kopiert.</translation>
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
   <source>The collaboration could not be founded.</source>
   <translation>Das Projekt ließ sich nicht gründen.</translation>
  </message>
  <message>
   <source>The collaboration gives the aggregator {name} numbers that it does not take.</source>
   <translation>Das Projekt gibt dem Aggregator {name} Zahlen, die er nicht nimmt.</translation>
  </message>
  <message>
   <source>The collaboration has no source {source}.</source>
   <translation>Das Projekt hat keine Quelle {source}.</translation>
  </message>
  <message>
   <source>The collaboration in {charter} names {count} indexes, and none of them for {address}.</source>
   <translation>Das Projekt in {charter} nennt {count} Verzeichnisse, und keines davon für {address}.</translation>
  </message>
  <message>
   <source>The collaboration in {folder} cannot be read ({invitations}: No such file).</source>
   <translation>Das Projekt in {folder} lässt sich nicht lesen ({invitations}: keine solche Datei).</translation>
  </message>
  <message>
   <source>The collaboration in {folder} cannot be read ({why}).</source>
   <translation>Das Projekt in {folder} lässt sich nicht lesen ({why}).</translation>
  </message>
  <message>
   <source>The collaboration in {folder} has a damaged key.</source>
   <translation>Das Projekt in {folder} hat einen beschädigten Schlüssel.</translation>
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
   <source>The collaboration's file {name} cannot be read: {error}.</source>
   <translation>Die Datei {name} des Projekts lässt sich nicht lesen: {error}.</translation>
  </message>
  <message>
   <source>The collaboration's file {name} is damaged.</source>
   <translation>Die Datei {name} des Projekts ist beschädigt.</translation>
  </message>
  <message>
   <source>The collaboration's files are longer than {most} bytes.</source>
   <translation>Die Dateien des Projekts sind länger als {most} Byte.</translation>
  </message>
  <message>
   <source>The collaboration's files change all the time.</source>
   <translation>Die Dateien des Projekts ändern sich ständig.</translation>
  </message>
  <message>
   <source>The command line does everything: potluck --help</source>
   <translation>Die Befehlszeile kann alles: potluck --help</translation>
  </message>
  <message>
   <source>The computer at {where}</source>
   <translation>Der Rechner bei {where}</translation>
  </message>
  <message>
   <source>The connection to {place} broke, and does not come back.</source>
   <translation>Die Verbindung zu {place} brach ab und kommt nicht wieder.</translation>
  </message>
  <message>
   <source>The copy of the leaderboard could not be read; it comes again with the next state. The damaged file was kept as {name}.</source>
   <translation>Die Kopie der Rangliste war nicht lesbar; sie kommt mit dem nächsten Stand wieder. Die beschädigte Datei wurde als {name} aufgehoben.</translation>
  </message>
  <message>
   <source>The copy of the model names another state than was promised.</source>
   <translation>Die Kopie des Modells nennt einen anderen Stand, als versprochen war.</translation>
  </message>
  <message>
   <source>The copy {name} is not a state.</source>
   <translation>Die Kopie {name} ist kein Stand.</translation>
  </message>
  <message>
   <source>The copy {name} is not the one to which moderators want to go back.</source>
   <translation>Die Kopie {name} ist nicht die, zu der die Moderation zurück will.</translation>
  </message>
  <message>
   <source>The copy {name} is not what was written.</source>
   <translation>Die Kopie {name} ist nicht, was geschrieben wurde.</translation>
  </message>
  <message>
   <source>The counts do not fit the manifest's numbers.</source>
   <translation>Die Häufigkeiten passen nicht zu den Zahlen des Manifests.</translation>
  </message>
  <message>
   <source>The credentials of {address} cannot be used.</source>
   <translation>Die Zugangsdaten von {address} sind nicht brauchbar.</translation>
  </message>
  <message>
   <source>The curve is empty: it begins with the first step.</source>
   <translation>Die Kurve ist leer: Sie beginnt mit dem ersten Schritt.</translation>
  </message>
  <message>
   <source>The curves show the loss{unit}: it is 0 for a model that never errs.</source>
   <translation>Die Kurven zeigen den Verlust{unit}: Er ist 0 bei einem Modell, das sich nie irrt.</translation>
  </message>
  <message>
   <source>The data are other ones than before, so reading begins anew.</source>
   <translation>Die Daten sind andere als zuvor, darum beginnt das Lesen von vorn.</translation>
  </message>
  <message>
   <source>The database is busy.</source>
   <translation>Die Datenbank ist beschäftigt.</translation>
  </message>
  <message>
   <source>The database of the page gives no answer.</source>
   <translation>Die Datenbank der Seite antwortet nicht.</translation>
  </message>
  <message>
   <source>The database {file} is gone.</source>
   <translation>Die Datenbank {file} ist weg.</translation>
  </message>
  <message>
   <source>The database {name} cannot be copied: {error}.</source>
   <translation>Die Datenbank {name} lässt sich nicht kopieren: {error}.</translation>
  </message>
  <message>
   <source>The database {place} cannot be used.</source>
   <translation>Die Datenbank {place} kann nicht benutzt werden.</translation>
  </message>
  <message>
   <source>The database {place} is damaged.</source>
   <translation>Die Datenbank {place} ist beschädigt.</translation>
  </message>
  <message>
   <source>The device could not be used again: {error}</source>
   <translation>Das Gerät ließ sich nicht wieder benutzen: {error}</translation>
  </message>
  <message>
   <source>The device {called} cannot be used: {reason}.</source>
   <translation>Das Gerät {called} kann nicht benutzt werden: {reason}.</translation>
  </message>
  <message>
   <source>The device {device}</source>
   <translation>Das Gerät {device}</translation>
  </message>
  <message>
   <source>The device {name} trains no more: {why}</source>
   <translation>Das Gerät {name} trainiert nicht mehr: {why}</translation>
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
   <source>The disk of the database {place} is full.</source>
   <translation>Der Datenträger der Datenbank {place} ist voll.</translation>
  </message>
  <message>
   <source>The drive of {folder} gives no locks: {error}.</source>
   <translation>Das Laufwerk von {folder} sperrt keine Dateien: {error}.</translation>
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
   <source>The engine did not start.</source>
   <translation>Der Dienst ist nicht gestartet.</translation>
  </message>
  <message>
   <source>The engine ended by itself.</source>
   <translation>Der Dienst hat von selbst aufgehört.</translation>
  </message>
  <message>
   <source>The engine ended by itself. It said: {line}</source>
   <translation>Der Dienst hat von selbst aufgehört. Er sagte: {line}</translation>
  </message>
  <message>
   <source>The engine has not joined a collaboration yet.</source>
   <translation>Der Dienst ist noch keinem Projekt beigetreten.</translation>
  </message>
  <message>
   <source>The engine has stopped.</source>
   <translation>Der Dienst hat aufgehört.</translation>
  </message>
  <message>
   <source>The engine is starting; this window connects to it in a moment.</source>
   <translation>Der Dienst startet; dieses Fenster verbindet sich gleich mit ihm.</translation>
  </message>
  <message>
   <source>The engine starts when you log in, without a window.</source>
   <translation>Der Dienst startet beim Anmelden, ohne Fenster.</translation>
  </message>
  <message>
   <source>The engine was told to stop.</source>
   <translation>Dem Dienst wurde gesagt, er solle aufhören.</translation>
  </message>
  <message>
   <source>The engine, without a window</source>
   <translation>Der Dienst, ohne Fenster</translation>
  </message>
  <message>
   <source>The export in {folder} is whole. Check the connection and the token, then try again with --force.</source>
   <translation>Der Export in {folder} ist vollständig. Verbindung und Token prüfen, dann noch einmal mit --force versuchen.</translation>
  </message>
  <message>
   <source>The file with this computer's key is damaged.</source>
   <translation>Die Datei mit dem Schlüssel dieses Rechners ist beschädigt.</translation>
  </message>
  <message>
   <source>The file {name} of the collaboration in {folder} is missing or damaged.</source>
   <translation>Die Datei {name} des Projekts in {folder} fehlt oder ist beschädigt.</translation>
  </message>
  <message>
   <source>The file {name} would not be read: Prometheus' node exporter reads files that end in .prom.</source>
   <translation>Die Datei {name} würde nicht gelesen: Der Node Exporter von Prometheus liest Dateien, die auf .prom enden.</translation>
  </message>
  <message>
   <source>The file {records} of the collaboration in {folder} is damaged.</source>
   <translation>Die Datei {records} des Projekts in {folder} ist beschädigt.</translation>
  </message>
  <message>
   <source>The files in {address} have changed while they were cut.</source>
   <translation>Die Dateien in {address} haben sich geändert, während sie zerlegt wurden.</translation>
  </message>
  <message>
   <source>The folder with the files</source>
   <translation>Der Ordner mit den Dateien</translation>
  </message>
  <message>
   <source>The folder {folder} cannot be read.</source>
   <translation>Der Ordner {folder} lässt sich nicht lesen.</translation>
  </message>
  <message>
   <source>The folder {folder} does not have {name} {version} for this computer.</source>
   <translation>Der Ordner {folder} hat {name} {version} für diesen Rechner nicht.</translation>
  </message>
  <message>
   <source>The folder {folder} holds an export already.</source>
   <translation>Der Ordner {folder} enthält schon einen Export.</translation>
  </message>
  <message>
   <source>The folder {folder} holds no collaboration.</source>
   <translation>Der Ordner {folder} enthält kein Projekt.</translation>
  </message>
  <message>
   <source>The folder {folder} holds something that is not part of an export: {others}.</source>
   <translation>Der Ordner {folder} enthält etwas, das nicht zu einem Export gehört: {others}.</translation>
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
   <source>The graphics card rests while {program} runs, as you chose.</source>
   <translation>Die Grafikkarte ruht wie gewünscht, solange {program} läuft.</translation>
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
   <source>The held-out images do not fit the numbers.</source>
   <translation>Die Prüfbilder passen nicht zu den Zahlen.</translation>
  </message>
  <message>
   <source>The held-out text does not fit the numbers.</source>
   <translation>Der Prüftext passt nicht zu den Zahlen.</translation>
  </message>
  <message>
   <source>The held-out text is too short to measure with.</source>
   <translation>Der Prüftext ist zu kurz, um damit zu messen.</translation>
  </message>
  <message>
   <source>The household of {words} is not known.</source>
   <translation>Der Haushalt von {words} ist nicht bekannt.</translation>
  </message>
  <message>
   <source>The index {index} cannot be read: {error}.</source>
   <translation>Das Verzeichnis {index} lässt sich nicht lesen: {error}.</translation>
  </message>
  <message>
   <source>The invitation in this link cannot be read.</source>
   <translation>Die Einladung in diesem Link lässt sich nicht lesen.</translation>
  </message>
  <message>
   <source>The invitations of the collaboration in {folder} are damaged.</source>
   <translation>Die Einladungen des Projekts in {folder} sind beschädigt.</translation>
  </message>
  <message>
   <source>The kept description of the collaboration is not used. {why}</source>
   <translation>Die aufgehobene Beschreibung des Projekts wird nicht benutzt. {why}</translation>
  </message>
  <message>
   <source>The kept list of whom the moderators have shut out is damaged.</source>
   <translation>Die aufgehobene Liste derer, die die Moderation ausgeschlossen hat, ist beschädigt.</translation>
  </message>
  <message>
   <source>The kept pass is not used. {why}</source>
   <translation>Der aufgehobene Ausweis wird nicht benutzt. {why}</translation>
  </message>
  <message>
   <source>The key of this backbone was in wrong hands.</source>
   <translation>Der Schlüssel dieses Stützpunkts war in falschen Händen.</translation>
  </message>
  <message>
   <source>The last 14 days</source>
   <translation>Die letzten 14 Tage</translation>
  </message>
  <message>
   <source>The last places of this invitation are held for computers that are about to come in.</source>
   <translation>Die letzten Plätze dieser Einladung werden für Rechner freigehalten, die gerade dazukommen.</translation>
  </message>
  <message>
   <source>The last saved state is untouched.</source>
   <translation>Der zuletzt gespeicherte Stand ist unberührt.</translation>
  </message>
  <message>
   <source>The last saved state is untouched; training goes on from there.</source>
   <translation>Der zuletzt gespeicherte Stand ist unberührt; von dort geht das Training weiter.</translation>
  </message>
  <message>
   <source>The last steps up to number {epoch} that this computer took were not kept: most others had gone on from an earlier one without it. It goes on with theirs.</source>
   <translation>Die letzten Schritte dieses Rechners bis Nummer {epoch} wurden nicht behalten: Die meisten anderen waren ohne ihn von einem früheren aus weitergegangen. Er macht mit ihren weiter.</translation>
  </message>
  <message>
   <source>The link &amp;lasts</source>
   <translation>Der Link &amp;gilt</translation>
  </message>
  <message>
   <source>The link could not be looked at.</source>
   <translation>Der Link ließ sich nicht ansehen.</translation>
  </message>
  <message>
   <source>The link is copied.</source>
   <translation>Der Link ist kopiert.</translation>
  </message>
  <message>
   <source>The link lets &amp;in</source>
   <translation>Der Link lässt here&amp;in</translation>
  </message>
  <message>
   <source>The links of the collaborations could not be read; the damaged file was kept as {name}.</source>
   <translation>Die Links der Projekte waren nicht lesbar; die beschädigte Datei wurde als {name} aufgehoben.</translation>
  </message>
  <message>
   <source>The list of the data's shards is not there.</source>
   <translation>Die Liste der Stücke der Daten ist nicht da.</translation>
  </message>
  <message>
   <source>The list of versions is in a form that this Potluck does not know.</source>
   <translation>Die Liste der Versionen hat eine Form, die dieses Potluck nicht kennt.</translation>
  </message>
  <message>
   <source>The lists of the data's shards give one shard two sizes.</source>
   <translation>Die Listen der Stücke geben einem Stück zwei Größen.</translation>
  </message>
  <message>
   <source>The log says more.</source>
   <translation>Im Protokoll steht mehr.</translation>
  </message>
  <message>
   <source>The log {logs} says more.</source>
   <translation>Im Protokoll {logs} steht mehr.</translation>
  </message>
  <message>
   <source>The log {logs} says why.</source>
   <translation>Den Grund nennt das Protokoll {logs}.</translation>
  </message>
  <message>
   <source>The manifest has {count} bytes; {most} are allowed.</source>
   <translation>Das Manifest hat {count} Byte; erlaubt sind {most}.</translation>
  </message>
  <message>
   <source>The manifest lacks the file {name}.</source>
   <translation>Dem Manifest fehlt die Datei {name}.</translation>
  </message>
  <message>
   <source>The manifest {path} cannot be read: {error}.</source>
   <translation>Das Manifest {path} lässt sich nicht lesen: {error}.</translation>
  </message>
  <message>
   <source>The manifest's numbers do not fit the {of}: {error}.</source>
   <translation>Die Zahlen des Manifests passen nicht ({of}): {error}.</translation>
  </message>
  <message>
   <source>The manifest's signature is wrong: somebody changed it after the organiser signed it.</source>
   <translation>Die Unterschrift des Manifests ist falsch: Jemand hat es geändert, nachdem die Leitung unterschrieben hatte.</translation>
  </message>
  <message>
   <source>The mean of a round cannot be read: {error}.</source>
   <translation>Der Mittelwert einer Runde lässt sich nicht lesen: {error}.</translation>
  </message>
  <message>
   <source>The mean of a round could not be read, or nobody had asked for it.</source>
   <translation>Der Mittelwert einer Runde ließ sich nicht lesen, oder niemand hatte danach gefragt.</translation>
  </message>
  <message>
   <source>The measurement ended without a result.</source>
   <translation>Die Messung endete ohne Ergebnis.</translation>
  </message>
  <message>
   <source>The message is not JSON.</source>
   <translation>Die Nachricht ist kein JSON.</translation>
  </message>
  <message>
   <source>The message is not a valid request: {error}.</source>
   <translation>Die Nachricht ist keine gültige Anfrage: {error}.</translation>
  </message>
  <message>
   <source>The model</source>
   <translation>Das Modell</translation>
  </message>
  <message>
   <source>The model after step {epoch} is in {folder}.</source>
   <translation>Das Modell nach Schritt {epoch} liegt in {folder}.</translation>
  </message>
  <message>
   <source>The model cannot be read: {error}.</source>
   <translation>Das Modell lässt sich nicht lesen: {error}.</translation>
  </message>
  <message>
   <source>The model differs from this task's: its {name} is {own}, and must be {other}.</source>
   <translation>Das Modell unterscheidet sich von dem dieser Aufgabe: {name} ist {own}, und muss {other} sein.</translation>
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
   <source>The model has taken its first step with your work in it.</source>
   <translation>Im Modell steckt der erste Schritt mit Arbeit dieses Rechners.</translation>
  </message>
  <message>
   <source>The model in {folder} cannot be read: {error}.</source>
   <translation>Das Modell in {folder} lässt sich nicht lesen: {error}.</translation>
  </message>
  <message>
   <source>The model in {folder} cannot be read: {why}.</source>
   <translation>Das Modell in {folder} lässt sich nicht lesen: {why}.</translation>
  </message>
  <message>
   <source>The model in {folder} lacks parameters, such as {lacking}.</source>
   <translation>Dem Modell in {folder} fehlen Parameter, etwa {lacking}.</translation>
  </message>
  <message>
   <source>The model is kept after these steps: {steps}</source>
   <translation>Aufbewahrt ist das Modell nach diesen Schritten: {steps}</translation>
  </message>
  <message>
   <source>The model is of the kind {found}, and this task trains the kind {wanted}.</source>
   <translation>Das Modell ist von der Art {found}, und diese Aufgabe trainiert die Art {wanted}.</translation>
  </message>
  <message>
   <source>The model knows {vocab_size} pieces of text, and its tokenizer {pieces}.</source>
   <translation>Das Modell kennt {vocab_size} Textteile, und sein Tokenizer {pieces}.</translation>
  </message>
  <message>
   <source>The model of step {epoch} is not kept on this computer.</source>
   <translation>Das Modell von Schritt {epoch} ist auf diesem Rechner nicht aufbewahrt.</translation>
  </message>
  <message>
   <source>The model on this computer is asked…</source>
   <translation>Das Modell auf diesem Rechner wird gefragt…</translation>
  </message>
  <message>
   <source>The model takes a step when {samples} of them are computed, on all computers together.</source>
   <translation>Das Modell macht einen Schritt, sobald alle Rechner zusammen {samples} davon gerechnet haben.</translation>
  </message>
  <message>
   <source>The model to begin with has its tokenizer.</source>
   <translation>Das Modell, mit dem begonnen wird, hat seinen Tokenizer.</translation>
  </message>
  <message>
   <source>The model to which this proposal goes back does not come from any copy here.</source>
   <translation>Das Modell, zu dem dieser Vorschlag zurückkehrt, kommt von keiner Kopie hier.</translation>
  </message>
  <message>
   <source>The model was not saved.</source>
   <translation>Das Modell wurde nicht gespeichert.</translation>
  </message>
  <message>
   <source>The model was not sent to {endpoint}: {why}.</source>
   <translation>Das Modell wurde nicht an {endpoint} gesendet: {why}.</translation>
  </message>
  <message>
   <source>The model's loss is not a finite number.</source>
   <translation>Der Verlust des Modells ist keine endliche Zahl.</translation>
  </message>
  <message>
   <source>The model's vocabulary is not letters.</source>
   <translation>Das Vokabular des Modells sind keine Buchstaben.</translation>
  </message>
  <message>
   <source>The model, as numbers, files that the collaboration names by their digest, such as a vocabulary, and text to learn from, from the addresses that you saw before you joined. Never programs: new code comes with a new version of Potluck only, which the people who make it have signed.</source>
   <translation>Das Modell, in Zahlen, Dateien, die das Projekt mit ihrem Fingerabdruck nennt, etwa ein Wortschatz, und Lerntext von den Adressen, die vor dem Beitritt zu sehen waren. Nie Programme: Neuer Code kommt nur mit einer neuen Version von Potluck, die unterschrieben ist von denen, die es machen.</translation>
  </message>
  <message>
   <source>The moderators have changed as often as they can.</source>
   <translation>Die Moderation hat so oft gewechselt, wie sie kann.</translation>
  </message>
  <message>
   <source>The moderators have ended the passes of the backbone that let {username} in.</source>
   <translation>Die Moderation hat die Ausweise des Stützpunkts beendet, der {username} eingelassen hat.</translation>
  </message>
  <message>
   <source>The moderators have ended this backbone: it lets nobody in any more.</source>
   <translation>Die Moderation hat diesen Stützpunkt beendet: Er lässt niemanden mehr herein.</translation>
  </message>
  <message>
   <source>The moderators have ended {collaboration}, and name another one that goes on. Nothing is computed for that one before you say yes. Thank you for what you gave. {words}</source>
   <translation>Die Moderation hat {collaboration} beendet und nennt ein anderes Projekt, das weitergeht. Dafür wird ohne Zustimmung nichts gerechnet. Vielen Dank für den Beitrag. {words}</translation>
  </message>
  <message>
   <source>The moderators have ended {collaboration}. Thank you for what you gave to it. {words}</source>
   <translation>Die Moderation hat {collaboration} beendet. Vielen Dank für den Beitrag dazu. {words}</translation>
  </message>
  <message>
   <source>The moderators have had everybody go back to step {epoch}; what came after it counts no more. {words}</source>
   <translation>Die Moderation hat alle zu Schritt {epoch} zurückgehen lassen; was danach kam, zählt nicht mehr. {words}</translation>
  </message>
  <message>
   <source>The moderators have paused {collaboration}: nothing is computed until they go on. {words}</source>
   <translation>Die Moderation hat {collaboration} angehalten: Es wird nichts gerechnet, bis es weitergeht. {words}</translation>
  </message>
  <message>
   <source>The moderators have shut your account out.</source>
   <translation>Die Moderation hat dieses Konto ausgeschlossen.</translation>
  </message>
  <message>
   <source>The moderators let nobody new in at present.</source>
   <translation>Die Moderation lässt zurzeit niemanden neu herein.</translation>
  </message>
  <message>
   <source>The moderators say: {words}</source>
   <translation>Die Moderation sagt: {words}</translation>
  </message>
  <message>
   <source>The month's limit for the network is used up. Potluck continues with the next month.</source>
   <translation>Die Monatsgrenze für das Netzwerk ist erreicht. Potluck macht im nächsten Monat weiter.</translation>
  </message>
  <message>
   <source>The name and the passphrase do not belong together.</source>
   <translation>Name und Passphrase gehören nicht zusammen.</translation>
  </message>
  <message>
   <source>The name of a backbone is too long.</source>
   <translation>Der Name eines Stützpunkts ist zu lang.</translation>
  </message>
  <message>
   <source>The name of this folder has letters that cannot be shown.</source>
   <translation>Der Name dieses Ordners hat Zeichen, die sich nicht zeigen lassen.</translation>
  </message>
  <message>
   <source>The name or address of a backbone cannot be shown.</source>
   <translation>Name oder Adresse eines Stützpunkts lassen sich nicht anzeigen.</translation>
  </message>
  <message>
   <source>The name {name} belongs to somebody else here.</source>
   <translation>Der Name {name} gehört hier schon jemand anderem.</translation>
  </message>
  <message>
   <source>The name {name} cannot be used.</source>
   <translation>Der Name {name} geht nicht.</translation>
  </message>
  <message>
   <source>The name {name} mixes letters of several alphabets.</source>
   <translation>Der Name {name} mischt Buchstaben mehrerer Alphabete.</translation>
  </message>
  <message>
   <source>The name {username} cannot be used.</source>
   <translation>Der Name {username} geht nicht.</translation>
  </message>
  <message>
   <source>The new version cannot be unpacked, so it was not installed.</source>
   <translation>Die neue Version lässt sich nicht auspacken, deshalb wurde sie nicht installiert.</translation>
  </message>
  <message>
   <source>The new version does not start on this computer, so it was not installed.</source>
   <translation>Die neue Version startet auf diesem Rechner nicht, deshalb wurde sie nicht installiert.</translation>
  </message>
  <message>
   <source>The new version is larger than its publisher says, so it was not installed.</source>
   <translation>Die neue Version ist größer, als ihr Herausgeber sagt, deshalb wurde sie nicht installiert.</translation>
  </message>
  <message>
   <source>The new version needs {needed} GB of the disk for a while, and {free} GB are free.</source>
   <translation>Die neue Version braucht für eine Weile {needed} GB auf der Platte, und {free} GB sind frei.</translation>
  </message>
  <message>
   <source>The newest model is written…</source>
   <translation>Das neueste Modell wird geschrieben…</translation>
  </message>
  <message>
   <source>The newest model of {name} here cannot be used. {fault}</source>
   <translation>Das neueste Modell von {name} hier ist nicht brauchbar. {fault}</translation>
  </message>
  <message>
   <source>The newest model on this computer is loaded: this takes some seconds…</source>
   <translation>Das neueste Modell auf diesem Rechner wird geladen: Das dauert einige Sekunden…</translation>
  </message>
  <message>
   <source>The next start goes on from the last step.</source>
   <translation>Der nächste Start macht beim letzten Schritt weiter.</translation>
  </message>
  <message>
   <source>The notice says nothing.</source>
   <translation>Die Mitteilung sagt nichts.</translation>
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
   <source>The others get this text in pieces: take only what may be handed on.</source>
   <translation>Die anderen bekommen diesen Text in Stücken: nur nehmen, was weitergegeben werden darf.</translation>
  </message>
  <message>
   <source>The others have signed that it was averaged.</source>
   <translation>Die anderen haben unterschrieben, dass es gemittelt wurde.</translation>
  </message>
  <message>
   <source>The page answers with an error ({status}).</source>
   <translation>Die Seite antwortet mit einem Fehler ({status}).</translation>
  </message>
  <message>
   <source>The page at {site} cannot prove that it is the one that its address names.</source>
   <translation>Die Seite unter {site} kann nicht beweisen, dass sie die ist, die ihre Adresse nennt.</translation>
  </message>
  <message>
   <source>The page at {site} sends people to another address.</source>
   <translation>Die Seite unter {site} führt zu einer anderen Adresse.</translation>
  </message>
  <message>
   <source>The page can let nobody in at present.</source>
   <translation>Die Seite kann zurzeit niemanden aufnehmen.</translation>
  </message>
  <message>
   <source>The page cannot be served at {place}: {error}.</source>
   <translation>Die Seite lässt sich nicht unter {place} anbieten: {error}.</translation>
  </message>
  <message>
   <source>The page needs Jinja2.</source>
   <translation>Die Seite braucht Jinja2.</translation>
  </message>
  <message>
   <source>The page of this collaboration has given an answer that this version does not know.</source>
   <translation>Die Seite dieses Projekts hat eine Antwort gegeben, die diese Version nicht kennt.</translation>
  </message>
  <message>
   <source>The page of this collaboration is of a version with which nobody can sign in from Potluck.</source>
   <translation>Die Seite dieses Projekts hat eine Version, mit der von Potluck aus keine Anmeldung möglich ist.</translation>
  </message>
  <message>
   <source>The part of Potluck that trains is not installed here.</source>
   <translation>Der Trainingsteil von Potluck ist hier nicht installiert.</translation>
  </message>
  <message>
   <source>The pass belongs to another collaboration.</source>
   <translation>Der Ausweis gehört zu einem anderen Projekt.</translation>
  </message>
  <message>
   <source>The pass names an account that cannot be.</source>
   <translation>Der Ausweis nennt ein Konto, das es nicht geben kann.</translation>
  </message>
  <message>
   <source>The pass names nobody.</source>
   <translation>Der Ausweis nennt niemanden.</translation>
  </message>
  <message>
   <source>The pass of {username} has expired.</source>
   <translation>Der Ausweis von {username} ist abgelaufen.</translation>
  </message>
  <message>
   <source>The pass of {username} is another backbone's.</source>
   <translation>Der Ausweis von {username} ist der eines anderen Stützpunkts.</translation>
  </message>
  <message>
   <source>The pass of {username} is not valid yet.</source>
   <translation>Der Ausweis von {username} gilt noch nicht.</translation>
  </message>
  <message>
   <source>The pass of {username} was revoked.</source>
   <translation>Der Ausweis von {username} wurde zurückgezogen.</translation>
  </message>
  <message>
   <source>The pass was not issued by any authority of this collaboration.</source>
   <translation>Den Ausweis hat keine Stelle dieses Projekts ausgestellt.</translation>
  </message>
  <message>
   <source>The pass was not issued by this collaboration's authority.</source>
   <translation>Der Ausweis wurde nicht von der Stelle dieses Projekts ausgestellt.</translation>
  </message>
  <message>
   <source>The pot is full: everyone's samples become the next step of the model.</source>
   <translation>Der Topf ist voll: Aus den Beispielen aller wird der nächste Schritt des Modells.</translation>
  </message>
  <message>
   <source>The process that hosts experts was not started properly.</source>
   <translation>Der Prozess, der Experten beherbergt, wurde nicht richtig gestartet.</translation>
  </message>
  <message>
   <source>The process that hosts experts was started twice.</source>
   <translation>Der Prozess, der Experten beherbergt, wurde zweimal gestartet.</translation>
  </message>
  <message>
   <source>The process with the model has ended.</source>
   <translation>Der Prozess mit dem Modell ist beendet.</translation>
  </message>
  <message>
   <source>The processor</source>
   <translation>Der Prozessor</translation>
  </message>
  <message>
   <source>The processor has {celsius} °C.</source>
   <translation>Der Prozessor hat {celsius} °C.</translation>
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
   <source>The program ssh is not installed.</source>
   <translation>Das Programm ssh ist nicht installiert.</translation>
  </message>
  <message>
   <source>The proxy wants to know who asks.</source>
   <translation>Der Proxy will wissen, wer fragt.</translation>
  </message>
  <message>
   <source>The questions were not answered; nothing was founded.</source>
   <translation>Die Fragen wurden nicht beantwortet; es wurde nichts gegründet.</translation>
  </message>
  <message>
   <source>The reader was started twice.</source>
   <translation>Der Leser wurde zweimal gestartet.</translation>
  </message>
  <message>
   <source>The reading process could not be started: {error}.</source>
   <translation>Der Leseprozess ließ sich nicht starten: {error}.</translation>
  </message>
  <message>
   <source>The reading process ends again and again.</source>
   <translation>Der Leseprozess endet immer wieder.</translation>
  </message>
  <message>
   <source>The reading process was not started properly.</source>
   <translation>Der Leseprozess wurde nicht richtig gestartet.</translation>
  </message>
  <message>
   <source>The receipt is not what its members signed: somebody or the disk has changed it.</source>
   <translation>Die Quittung ist nicht die, die unterschrieben wurde: Jemand oder die Festplatte hat sie verändert.</translation>
  </message>
  <message>
   <source>The recipe's &amp;own text</source>
   <translation>Der &amp;eigene Text des Rezepts</translation>
  </message>
  <message>
   <source>The registry cannot be changed: {error}.</source>
   <translation>Die Registrierung lässt sich nicht ändern: {error}.</translation>
  </message>
  <message>
   <source>The request did not arrive in time.</source>
   <translation>Die Anfrage kam nicht rechtzeitig an.</translation>
  </message>
  <message>
   <source>The residuals are not those that were written last.</source>
   <translation>Die Reste sind nicht die, die zuletzt geschrieben wurden.</translation>
  </message>
  <message>
   <source>The residuals are of another vector, or their records are torn.</source>
   <translation>Die Reste gehören zu einem anderen Vektor, oder ihre Einträge sind zerrissen.</translation>
  </message>
  <message>
   <source>The residuals have another length than they should.</source>
   <translation>Die Reste haben eine andere Länge, als sie sollten.</translation>
  </message>
  <message>
   <source>The router has to lead these ports to this computer: {desk} (TCP), {peers} (TCP and UDP).</source>
   <translation>Der Router muss diese Ports an diesen Rechner weiterleiten: {desk} (TCP), {peers} (TCP und UDP).</translation>
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
   <source>The score of the simple model is not valid.</source>
   <translation>Der Wert des einfachen Modells ist nicht gültig.</translation>
  </message>
  <message>
   <source>The server at the backbone's address cannot prove that it is this collaboration's backbone.</source>
   <translation>Der Server an der Adresse des Stützpunkts kann nicht beweisen, dass er der Stützpunkt dieses Projekts ist.</translation>
  </message>
  <message>
   <source>The server at the backbone's address cannot prove what time it is.</source>
   <translation>Der Server an der Adresse des Stützpunkts kann nicht beweisen, wie spät es ist.</translation>
  </message>
  <message>
   <source>The server has no file {name}.</source>
   <translation>Der Server hat keine Datei {name}.</translation>
  </message>
  <message>
   <source>The settings are saved.</source>
   <translation>Die Einstellungen sind gespeichert.</translation>
  </message>
  <message>
   <source>The settings could not be read, so Potluck pauses: look at them, then resume. The damaged file was kept as {name}.</source>
   <translation>Die Einstellungen waren nicht lesbar, darum ist Potluck angehalten: Bitte ansehen, dann fortsetzen. Die beschädigte Datei wurde als {name} aufgehoben.</translation>
  </message>
  <message>
   <source>The settings could not be read; the copy of them is used. The damaged file was kept as {name}.</source>
   <translation>Die Einstellungen waren nicht lesbar; ihre Kopie wird benutzt. Die beschädigte Datei wurde als {name} aufgehoben.</translation>
  </message>
  <message>
   <source>The shard has {count} rows, so none has the number {row}.</source>
   <translation>Das Stück hat {count} Zeilen, also hat keine die Nummer {row}.</translation>
  </message>
  <message>
   <source>The signed list of versions is out of date: nobody renewed it, or somebody keeps a newer one away.</source>
   <translation>Die unterschriebene Liste der Versionen ist abgelaufen: Niemand hat sie erneuert, oder jemand hält eine neuere fern.</translation>
  </message>
  <message>
   <source>The sizes make no model: hidden_size must be a multiple of heads, and at least embedding_size; hidden_size is {hidden_size}, heads {heads}, embedding_size {embedding_size}.</source>
   <translation>Die Größen ergeben kein Modell: hidden_size muss ein Vielfaches von heads sein und mindestens embedding_size; hidden_size ist {hidden_size}, heads {heads}, embedding_size {embedding_size}.</translation>
  </message>
  <message>
   <source>The source has no shard {shard}.</source>
   <translation>Die Quelle hat kein Stück {shard}.</translation>
  </message>
  <message>
   <source>The state {name} is not what was written.</source>
   <translation>Der Stand {name} ist nicht, was geschrieben wurde.</translation>
  </message>
  <message>
   <source>The states of {name} in {states} are damaged.</source>
   <translation>Die Stände von {name} in {states} sind beschädigt.</translation>
  </message>
  <message>
   <source>The sums of old receipts could not be read. The damaged file was kept as {name}.</source>
   <translation>Die Summen alter Quittungen waren nicht lesbar. Die beschädigte Datei wurde als {name} aufgehoben.</translation>
  </message>
  <message>
   <source>The system does not keep its clock right by itself.</source>
   <translation>Das System stellt die Uhr nicht von selbst.</translation>
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
   <source>The system's keyring does not answer.</source>
   <translation>Der Schlüsselbund des Systems antwortet nicht.</translation>
  </message>
  <message>
   <source>The system's keyring is not usable.</source>
   <translation>Der Schlüsselbund des Systems ist nicht benutzbar.</translation>
  </message>
  <message>
   <source>The system's keyring is switched off by POTLUCK_KEYRING.</source>
   <translation>Der Schlüsselbund des Systems ist mit POTLUCK_KEYRING abgeschaltet.</translation>
  </message>
  <message>
   <source>The task digits learns from images, and {called} has too few of {pixels} pixels: {train} to learn from and {held_out} to measure with.</source>
   <translation>Die Aufgabe digits lernt aus Bildern, und {called} hat zu wenige mit {pixels} Pixeln: {train} zum Lernen und {held_out} zum Messen.</translation>
  </message>
  <message>
   <source>The task digits reads images, and takes no tokenizer.</source>
   <translation>Die Aufgabe digits liest Bilder und nimmt keinen Tokenizer.</translation>
  </message>
  <message>
   <source>The task gpt reads letters, and takes no tokenizer.</source>
   <translation>Die Aufgabe gpt liest Buchstaben und nimmt keinen Tokenizer.</translation>
  </message>
  <message>
   <source>The task {task} has no model that transformers knows.</source>
   <translation>Für die Aufgabe {task} gibt es kein Modell, das transformers kennt.</translation>
  </message>
  <message>
   <source>The task {task} needs a table [experts].</source>
   <translation>Die Aufgabe {task} braucht eine Tabelle [experts].</translation>
  </message>
  <message>
   <source>The text has no blank to fill: write ___ where a word is missing.</source>
   <translation>Der Text hat keine Lücke: ___ schreiben, wo ein Wort fehlt.</translation>
  </message>
  <message>
   <source>The text in {called} has too little in it to learn: of {chars} characters come {pieces} different pieces, and {least} are the least.</source>
   <translation>Im Text in {called} steht zu wenig, um zu lernen: Aus {chars} Zeichen werden {pieces} verschiedene Teile, und {least} sind das Mindeste.</translation>
  </message>
  <message>
   <source>The text is read and cut, and what is learned is prepared.</source>
   <translation>Der Text wird gelesen und geschnitten, und was gelernt wird, wird vorbereitet.</translation>
  </message>
  <message>
   <source>The text is too long: it has {count} pieces, and this model reads {model_max_length}.</source>
   <translation>Der Text ist zu lang: Er hat {count} Teile, und dieses Modell liest {model_max_length}.</translation>
  </message>
  <message>
   <source>The text is too long: {most} letters are allowed.</source>
   <translation>Der Text ist zu lang: Erlaubt sind {most} Zeichen.</translation>
  </message>
  <message>
   <source>The text makes more than {most} shards.</source>
   <translation>Der Text ergibt mehr als {most} Stücke.</translation>
  </message>
  <message>
   <source>The text of {name} lies in {path}, which is not on this computer.</source>
   <translation>Der Text von {name} liegt in {path}, das nicht auf diesem Rechner ist.</translation>
  </message>
  <message>
   <source>The text of {name} lies in {sum} shards, {missing} of which are not on this computer.</source>
   <translation>Der Text von {name} liegt in {sum} Stücken, von denen {missing} nicht auf diesem Rechner sind.</translation>
  </message>
  <message>
   <source>The time for signing in is over.</source>
   <translation>Die Zeit für die Anmeldung ist abgelaufen.</translation>
  </message>
  <message>
   <source>The time given so far could not be read; the damaged file is {name}.</source>
   <translation>Die bisher gegebene Zeit war nicht lesbar; die beschädigte Datei ist {name}.</translation>
  </message>
  <message>
   <source>The tokenizer cannot be read.</source>
   <translation>Der Tokenizer lässt sich nicht lesen.</translation>
  </message>
  <message>
   <source>The tokenizer does not fit the manifest's numbers.</source>
   <translation>Der Tokenizer passt nicht zu den Zahlen des Manifests.</translation>
  </message>
  <message>
   <source>The tokenizer fails at this text.</source>
   <translation>Der Tokenizer scheitert an diesem Text.</translation>
  </message>
  <message>
   <source>The tokenizer is of another kind.</source>
   <translation>Der Tokenizer ist von anderer Art.</translation>
  </message>
  <message>
   <source>The tokenizer {path} cannot be read: {error}.</source>
   <translation>Der Tokenizer {path} lässt sich nicht lesen: {error}.</translation>
  </message>
  <message>
   <source>The tokenizer {path} has more than {most} bytes.</source>
   <translation>Der Tokenizer {path} hat mehr als {most} Byte.</translation>
  </message>
  <message>
   <source>The tokenizer {path} has {size} pieces, not {least} to {most}.</source>
   <translation>Der Tokenizer {path} hat {size} Teile, nicht {least} bis {most}.</translation>
  </message>
  <message>
   <source>The training part</source>
   <translation>Der Trainingsteil</translation>
  </message>
  <message>
   <source>The training part could not be looked at.</source>
   <translation>Der Trainingsteil konnte nicht angesehen werden.</translation>
  </message>
  <message>
   <source>The training part here belongs to another version of Potluck or Python.</source>
   <translation>Der Trainingsteil hier gehört zu einer anderen Version von Potluck oder Python.</translation>
  </message>
  <message>
   <source>The training part here belongs to another version of Potluck. Get the new one.</source>
   <translation>Der Trainingsteil hier gehört zu einer anderen Version von Potluck. Den neuen holen.</translation>
  </message>
  <message>
   <source>The training part is being downloaded already.</source>
   <translation>Der Trainingsteil wird schon geladen.</translation>
  </message>
  <message>
   <source>The training part is damaged: a file is missing, or has another size.</source>
   <translation>Der Trainingsteil ist beschädigt: Eine Datei fehlt oder hat eine andere Größe.</translation>
  </message>
  <message>
   <source>The training part is damaged: a file is missing, or has another size. Get it again.</source>
   <translation>Der Trainingsteil ist beschädigt: Eine Datei fehlt oder hat eine andere Größe. Ihn neu holen.</translation>
  </message>
  <message>
   <source>The training part is here: this computer can train.</source>
   <translation>Der Trainingsteil ist hier: Dieser Rechner kann trainieren.</translation>
  </message>
  <message>
   <source>The training part is not here: this computer averages what others train.</source>
   <translation>Der Trainingsteil fehlt hier: Dieser Rechner mittelt, was andere trainieren.</translation>
  </message>
  <message>
   <source>The training part needs {needed} GB of the disk for a while, and {free} GB are free.</source>
   <translation>Der Trainingsteil braucht für eine Weile {needed} GB der Festplatte, und {free} GB sind frei.</translation>
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
   <source>The training process ended with code {code}.</source>
   <translation>Das Trainingsprogramm endete mit Code {code}.</translation>
  </message>
  <message>
   <source>The training process said something unreadable: {problem}</source>
   <translation>Der Trainingsprozess sagte etwas Unlesbares: {problem}</translation>
  </message>
  <message>
   <source>The training process stopped.</source>
   <translation>Der Trainingsprozess hat aufgehört.</translation>
  </message>
  <message>
   <source>The training process was ended by signal {signal}.</source>
   <translation>Das Trainingsprogramm wurde durch Signal {signal} beendet.</translation>
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
   <source>The two passphrases differ.</source>
   <translation>Die beiden Passphrasen sind verschieden.</translation>
  </message>
  <message>
   <source>The volunteers' checkpoints do not have the same parameters.</source>
   <translation>Die Zwischenstände der Mitwirkenden haben nicht dieselben Parameter.</translation>
  </message>
  <message>
   <source>The way to {computer} does not open.</source>
   <translation>Der Weg zu {computer} öffnet sich nicht.</translation>
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
   <source>The window needs PySide6, which is not installed.</source>
   <translation>Das Fenster braucht PySide6, das nicht installiert ist.</translation>
  </message>
  <message>
   <source>The window speaks it from its next start on: quit Potluck and open it again.</source>
   <translation>Das Fenster spricht sie ab dem nächsten Start: Potluck beenden und wieder öffnen.</translation>
  </message>
  <message>
   <source>The window starts when you log in, hidden beside the clock.</source>
   <translation>Das Fenster startet beim Anmelden, versteckt neben der Uhr.</translation>
  </message>
  <message>
   <source>The window, hidden</source>
   <translation>Das Fenster, verborgen</translation>
  </message>
  <message>
   <source>The words are too long.</source>
   <translation>Der Text ist zu lang.</translation>
  </message>
  <message>
   <source>Then it &amp;computes</source>
   <translation>Dann rechnet &amp;er</translation>
  </message>
  <message>
   <source>There are no such times: {word}.</source>
   <translation>Solche Zeiten gibt es nicht: {word}.</translation>
  </message>
  <message>
   <source>There are {most} invitations already.</source>
   <translation>Es gibt schon {most} Einladungen.</translation>
  </message>
  <message>
   <source>There are: {fields}.</source>
   <translation>Es gibt: {fields}.</translation>
  </message>
  <message>
   <source>There are: {names}.</source>
   <translation>Es gibt: {names}.</translation>
  </message>
  <message>
   <source>There can be {most} backbones.</source>
   <translation>Es kann {most} Stützpunkte geben.</translation>
  </message>
  <message>
   <source>There can be {most} mirrors.</source>
   <translation>Es kann {most} Spiegel geben.</translation>
  </message>
  <message>
   <source>There can be {most} moderators.</source>
   <translation>Es kann {most} Personen in der Moderation geben.</translation>
  </message>
  <message>
   <source>There is memory for {count} experts.</source>
   <translation>Der Speicher reicht für {count} Experten.</translation>
  </message>
  <message>
   <source>There is no connection to other volunteers.</source>
   <translation>Es gibt keine Verbindung zu anderen Mitwirkenden.</translation>
  </message>
  <message>
   <source>There is no copy {number}.</source>
   <translation>Es gibt keine Kopie {number}.</translation>
  </message>
  <message>
   <source>There is no device {name} here now</source>
   <translation>Ein Gerät {name} gibt es hier gerade nicht</translation>
  </message>
  <message>
   <source>There is no file {file}.</source>
   <translation>Es gibt keine Datei {file}.</translation>
  </message>
  <message>
   <source>There is no file {path}.</source>
   <translation>Es gibt keine Datei {path}.</translation>
  </message>
  <message>
   <source>There is no folder or file {path}.</source>
   <translation>Es gibt keinen Ordner und keine Datei {path}.</translation>
  </message>
  <message>
   <source>There is no folder {folder}.</source>
   <translation>Es gibt keinen Ordner {folder}.</translation>
  </message>
  <message>
   <source>There is no folder {name}.</source>
   <translation>Es gibt keinen Ordner {name}.</translation>
  </message>
  <message>
   <source>There is no held-out text to look at the tokenizer with.</source>
   <translation>Es gibt keinen Prüftext, um den Tokenizer damit anzusehen.</translation>
  </message>
  <message>
   <source>There is no index in {address}.</source>
   <translation>In {address} gibt es kein Verzeichnis.</translation>
  </message>
  <message>
   <source>There is no index {path}.</source>
   <translation>Es gibt kein Verzeichnis {path}.</translation>
  </message>
  <message>
   <source>There is no invitation {named}.</source>
   <translation>Es gibt keine Einladung {named}.</translation>
  </message>
  <message>
   <source>There is no method {name}.</source>
   <translation>Es gibt keine Methode {name}.</translation>
  </message>
  <message>
   <source>There is no model of {name} on this computer yet.</source>
   <translation>Auf diesem Rechner gibt es noch kein Modell von {name}.</translation>
  </message>
  <message>
   <source>There is no newer version here.</source>
   <translation>Hier ist keine neuere Version.</translation>
  </message>
  <message>
   <source>There is no recipe {named}.</source>
   <translation>Es gibt kein Rezept {named}.</translation>
  </message>
  <message>
   <source>There is no setting {name}.</source>
   <translation>Es gibt keine Einstellung {name}.</translation>
  </message>
  <message>
   <source>There is no setting {unknown}.</source>
   <translation>Es gibt keine Einstellung {unknown}.</translation>
  </message>
  <message>
   <source>There is no text in {address}.</source>
   <translation>In {address} gibt es keinen Text.</translation>
  </message>
  <message>
   <source>There is no text to go on with.</source>
   <translation>Es gibt keinen Text, mit dem es weitergehen könnte.</translation>
  </message>
  <message>
   <source>There is too little text in {address}: {characters} characters, and none to look at the tokenizer with.</source>
   <translation>In {address} ist zu wenig Text: {characters} Zeichen, und keine, um den Tokenizer damit anzusehen.</translation>
  </message>
  <message>
   <source>There is too little text to learn from in {called}: {train} characters to train and {held_out} to measure with; {least} and {held_out_least} are the least.</source>
   <translation>In {called} ist zu wenig Text zum Lernen: {train} Zeichen zum Trainieren und {held_out} zum Messen; {least} und {held_out_least} sind das Mindeste.</translation>
  </message>
  <message>
   <source>There is too little text to learn from.</source>
   <translation>Es gibt zu wenig Text, um daraus zu lernen.</translation>
  </message>
  <message>
   <source>There you answer people who ask to be let in, too.</source>
   <translation>Dort lassen sich auch Bitten um Zutritt beantworten.</translation>
  </message>
  <message>
   <source>These are {count} letters.</source>
   <translation>Das sind {count} Zeichen.</translation>
  </message>
  <message>
   <source>These are {count} runs; {most} are allowed.</source>
   <translation>Das sind {count} Läufe; erlaubt sind {most}.</translation>
  </message>
  <message>
   <source>These settings cannot be read: {error}.</source>
   <translation>Diese Einstellungen lassen sich nicht lesen: {error}.</translation>
  </message>
  <message>
   <source>They have ended the collaboration, and name one that goes on: {words}</source>
   <translation>Die Moderation hat das Projekt beendet und nennt eines, das weitergeht: {words}</translation>
  </message>
  <message>
   <source>They have ended the collaboration: {words}</source>
   <translation>Die Moderation hat das Projekt beendet: {words}</translation>
  </message>
  <message>
   <source>They have paused the collaboration: {words}</source>
   <translation>Die Moderation hat das Projekt angehalten: {words}</translation>
  </message>
  <message>
   <source>They say: {words}</source>
   <translation>Die Moderation sagt: {words}</translation>
  </message>
  <message>
   <source>This Potluck runs with a Python that has torch: nothing has to be downloaded.</source>
   <translation>Dieses Potluck läuft mit einem Python, das torch hat: Es muss nichts geladen werden.</translation>
  </message>
  <message>
   <source>This Potluck was not installed as a program that updates itself.</source>
   <translation>Dieses Potluck wurde nicht als Programm installiert, das sich selbst aktualisiert.</translation>
  </message>
  <message>
   <source>This Potluck was not installed as a program that updates itself: newer versions come the way it came, from the system's packages for example.</source>
   <translation>Dieses Potluck wurde nicht als Programm installiert, das sich selbst aktualisiert: Neuere Versionen kommen auf demselben Weg wie es selbst, zum Beispiel aus den Paketen des Systems.</translation>
  </message>
  <message>
   <source>This Python has no pip, by which the training part is found.</source>
   <translation>Dieses Python hat kein pip, mit dem der Trainingsteil gefunden wird.</translation>
  </message>
  <message>
   <source>This backbone has no page on which moderators sign in.</source>
   <translation>Dieser Stützpunkt hat keine Seite, auf der sich die Moderation anmeldet.</translation>
  </message>
  <message>
   <source>This backbone has no ports yet.</source>
   <translation>Dieser Stützpunkt hat noch keine Ports.</translation>
  </message>
  <message>
   <source>This backbone lets nobody in, by the moderators' list.</source>
   <translation>Nach der Liste der Moderation lässt dieser Stützpunkt niemanden herein.</translation>
  </message>
  <message>
   <source>This can only be on or off.</source>
   <translation>Das kann nur ein oder aus sein.</translation>
  </message>
  <message>
   <source>This certificate is not a pass.</source>
   <translation>Dieses Zertifikat ist kein Ausweis.</translation>
  </message>
  <message>
   <source>This collaboration</source>
   <translation>Dieses Projekt</translation>
  </message>
  <message>
   <source>This collaboration lists no shards, so none can be shared.</source>
   <translation>Dieses Projekt nennt keine Stücke, also lässt sich keines teilen.</translation>
  </message>
  <message>
   <source>This collaboration wants to read the folder {path} on this computer.</source>
   <translation>Dieses Projekt will den Ordner {path} auf diesem Rechner lesen.</translation>
  </message>
  <message>
   <source>This command needs SQLAlchemy.</source>
   <translation>Dieser Befehl braucht SQLAlchemy.</translation>
  </message>
  <message>
   <source>This command needs {name}, which is not installed.</source>
   <translation>Dieser Befehl braucht {name}, und das ist nicht installiert.</translation>
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
   <source>This computer cannot listen on {bind}: {error}.</source>
   <translation>Dieser Rechner kann an {bind} nicht lauschen: {error}.</translation>
  </message>
  <message>
   <source>This computer does not hold the charter of {name}.</source>
   <translation>Dieser Rechner hat den Projektordner von {name} nicht.</translation>
  </message>
  <message>
   <source>This computer gives its pass up and leaves the collaboration. What it gave stays in the model, under your name. It comes in again when you sign in, or by a link of another computer of yours.</source>
   <translation>Dieser Rechner gibt seinen Ausweis ab und verlässt das Projekt. Sein Beitrag bleibt im Modell, unter demselben Namen. Er kommt durch eine neue Anmeldung wieder herein, oder durch einen Link eines anderen eigenen Rechners.</translation>
  </message>
  <message>
   <source>This computer has a network: its router's line may be dead, or theirs, or a firewall blocks this program.</source>
   <translation>Dieser Rechner hat Netz: Vielleicht ist der Anschluss des Routers tot oder der der anderen, oder eine Firewall hält dieses Programm auf.</translation>
  </message>
  <message>
   <source>This computer has averaged nobody's parts since it started.</source>
   <translation>Dieser Rechner hat seit seinem Start niemandes Teile gemittelt.</translation>
  </message>
  <message>
   <source>This computer has joined no collaboration.</source>
   <translation>Dieser Rechner ist keinem Projekt beigetreten.</translation>
  </message>
  <message>
   <source>This computer has no memory left.</source>
   <translation>Dieser Rechner hat keinen Speicher mehr frei.</translation>
  </message>
  <message>
   <source>This computer has no network now: nobody else can come in.</source>
   <translation>Dieser Rechner hat gerade kein Netz: Niemand sonst kommt herein.</translation>
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
   <source>This computer has taken part in no collaboration called {name}, and trained none alone.</source>
   <translation>Dieser Rechner hat bei keinem Projekt mitgemacht, das {name} heißt, und keines allein trainiert.</translation>
  </message>
  <message>
   <source>This computer has taken part in no collaboration, and trained none alone.</source>
   <translation>Dieser Rechner hat bei keinem Projekt mitgemacht und keines allein trainiert.</translation>
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
   <source>This computer is in use, and training held more than {memory} of its memory. Potluck continues when nobody has touched it for {minutes} min.</source>
   <translation>Dieser Rechner wird benutzt, und das Training hielt mehr als {memory} seines Speichers. Potluck macht weiter, wenn ihn {minutes} min lang niemand berührt hat.</translation>
  </message>
  <message>
   <source>This computer is in use. Potluck continues when nobody has touched it for {minutes} min.</source>
   <translation>Dieser Rechner wird benutzt. Potluck macht weiter, wenn ihn {minutes} min lang niemand angerührt hat.</translation>
  </message>
  <message>
   <source>This computer is not a moderator's here.</source>
   <translation>Dieser Rechner gehört hier niemandem aus der Moderation.</translation>
  </message>
  <message>
   <source>This computer lets the others in, and takes part. It does so as long as Potluck runs, also without this window; without it the others train on for four days, and nobody new comes in.</source>
   <translation>Dieser Rechner lässt die anderen herein und macht mit, solange Potluck läuft, auch ohne dieses Fenster; ohne ihn trainieren die anderen vier Tage weiter, und niemand Neues kommt herein.</translation>
  </message>
  <message>
   <source>This computer runs on its battery. Potluck continues when it is plugged in.</source>
   <translation>Dieser Rechner läuft mit Akku. Potluck macht weiter, wenn das Netzteil angeschlossen ist.</translation>
  </message>
  <message>
   <source>This computer takes part in no collaboration.</source>
   <translation>Dieser Rechner macht bei keinem Projekt mit.</translation>
  </message>
  <message>
   <source>This computer takes part in {name}.</source>
   <translation>Dieser Rechner nimmt teil an: {name}.</translation>
  </message>
  <message>
   <source>This computer trains alone: join a collaboration first, or start one.</source>
   <translation>Dieser Rechner trainiert allein: Zuerst bei einem Projekt mitmachen oder eines gründen.</translation>
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
   <source>This computer's clock is {time} {way} the collaboration's time, by which Potluck goes on. Let the system set the clock by itself (date and time settings): the hours that you chose follow it.</source>
   <translation>Die Uhr dieses Rechners weicht um {time} ab ({way} der Zeit des Projekts, nach der Potluck weitermacht). Bitte das System die Uhr selbst stellen lassen (Einstellungen für Datum und Zeit): Die gewählten Zeiten folgen ihr.</translation>
  </message>
  <message>
   <source>This computer's clock says {day}, but this Potluck was made later: what is new cannot be told so.</source>
   <translation>Die Uhr dieses Rechners zeigt {day}, aber dieses Potluck wurde später gemacht: So lässt sich nicht sagen, was neu ist.</translation>
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
   <source>This computer's key is in it: unlock the keyring. {also}</source>
   <translation>Der Schlüssel dieses Rechners ist darin: den Schlüsselbund öffnen. {also}</translation>
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
   <source>This holds no longer, or was used already.</source>
   <translation>Das gilt nicht mehr oder wurde schon benutzt.</translation>
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
   <source>This is not a certificate request.</source>
   <translation>Das ist keine Zertifikatsanfrage.</translation>
  </message>
  <message>
   <source>This is not a device that can train.</source>
   <translation>Das ist kein Gerät, das trainieren kann.</translation>
  </message>
  <message>
   <source>This is not a list of collaborations.</source>
   <translation>Das ist keine Liste von Projekten.</translation>
  </message>
  <message>
   <source>This is not a manifest: {error}.</source>
   <translation>Das ist kein Manifest: {error}.</translation>
  </message>
  <message>
   <source>This is not a meter that could say a number.</source>
   <translation>Das ist kein Zähler, der eine Zahl sagen könnte.</translation>
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
   <source>This is not a recovery sheet, or lines of it are missing.</source>
   <translation>Das ist kein Wiederherstellungsblatt, oder es fehlen Zeilen.</translation>
  </message>
  <message>
   <source>This is not a valid list of programs.</source>
   <translation>Das ist keine gültige Liste von Programmen.</translation>
  </message>
  <message>
   <source>This is not another computer of your account.</source>
   <translation>Das ist kein anderer Rechner des eigenen Kontos.</translation>
  </message>
  <message>
   <source>This is not the address of a database of PostgreSQL's.</source>
   <translation>Das ist keine Adresse einer Datenbank von PostgreSQL.</translation>
  </message>
  <message>
   <source>This is not the address of a database.</source>
   <translation>Das ist keine Adresse einer Datenbank.</translation>
  </message>
  <message>
   <source>This is outside the hours that you chose. Potluck continues {moment} at the earliest.</source>
   <translation>Jetzt ist keine der gewählten Zeiten. Potluck macht frühestens {moment} weiter.</translation>
  </message>
  <message>
   <source>This is the computer that you are at.</source>
   <translation>Das ist dieser Rechner selbst.</translation>
  </message>
  <message>
   <source>This is the key of another collaboration.</source>
   <translation>Das ist der Schlüssel eines anderen Projekts.</translation>
  </message>
  <message>
   <source>This is the link by which you came in; it lets in others, too.</source>
   <translation>Dieser Link hat diesen Rechner hereingelassen; er lässt auch andere herein.</translation>
  </message>
  <message>
   <source>This line is not a question: {error}.</source>
   <translation>Diese Zeile ist keine Frage: {error}.</translation>
  </message>
  <message>
   <source>This link cannot be read: {error}.</source>
   <translation>Dieser Link ist nicht lesbar: {error}.</translation>
  </message>
  <message>
   <source>This link does not say which collaboration it leads to.</source>
   <translation>Dieser Link sagt nicht, zu welchem Projekt er führt.</translation>
  </message>
  <message>
   <source>This link has no invitation, and nobody has signed in on this computer.</source>
   <translation>Dieser Link hat keine Einladung, und an diesem Rechner hat sich niemand angemeldet.</translation>
  </message>
  <message>
   <source>This link has no invitation, and nobody signs in there.</source>
   <translation>Dieser Link hat keine Einladung, und eine Anmeldung gibt es dort nicht.</translation>
  </message>
  <message>
   <source>This list is too large.</source>
   <translation>Diese Liste ist zu groß.</translation>
  </message>
  <message>
   <source>This list was changed after it was signed.</source>
   <translation>Diese Liste wurde nach der Unterschrift verändert.</translation>
  </message>
  <message>
   <source>This number cannot be chosen here.</source>
   <translation>Diese Zahl geht hier nicht.</translation>
  </message>
  <message>
   <source>This one goes on. Tell the people who make Potluck, with what potluck doctor says.</source>
   <translation>Diese läuft weiter. Denen Bescheid geben, die Potluck machen, mit dem, was potluck doctor sagt.</translation>
  </message>
  <message>
   <source>This passphrase does not open the key, or the key is damaged.</source>
   <translation>Diese Passphrase öffnet den Schlüssel nicht, oder der Schlüssel ist beschädigt.</translation>
  </message>
  <message>
   <source>This passphrase is too short or cannot be used.</source>
   <translation>Diese Passphrase ist zu kurz oder nicht verwendbar.</translation>
  </message>
  <message>
   <source>This proposal says something that this version of Potluck does not know.</source>
   <translation>Dieser Vorschlag sagt etwas, das diese Version von Potluck nicht kennt.</translation>
  </message>
  <message>
   <source>This recipe is being trained here already.</source>
   <translation>Dieses Rezept wird hier schon trainiert.</translation>
  </message>
  <message>
   <source>This request cannot be read.</source>
   <translation>Diese Anfrage ist nicht lesbar.</translation>
  </message>
  <message>
   <source>This request was made already.</source>
   <translation>Diese Anfrage wurde schon gestellt.</translation>
  </message>
  <message>
   <source>This request was signed at another time.</source>
   <translation>Diese Anfrage wurde zu einer anderen Zeit unterschrieben.</translation>
  </message>
  <message>
   <source>This system has no keyring that keeps secrets, or it is closed; nothing was kept.</source>
   <translation>Dieses System hat keinen Schlüsselbund, der Geheimnisse bewahrt, oder er ist zu; es wurde nichts aufgehoben.</translation>
  </message>
  <message>
   <source>This system has no systemd, which would start the engine.</source>
   <translation>Dieses System hat kein systemd, das den Dienst starten würde.</translation>
  </message>
  <message>
   <source>This system has no usable keyring: this computer's key is in the file {path}, readable by you only.</source>
   <translation>Dieses System hat keinen brauchbaren Schlüsselbund: Der Schlüssel dieses Rechners liegt in der Datei {path}, die nur das eigene Benutzerkonto lesen kann.</translation>
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
   <source>This version of Potluck does not know the hashes of the build {build}, so it is not installed.</source>
   <translation>Diese Version von Potluck kennt die Prüfsummen der Fassung {build} nicht, darum wird sie nicht installiert.</translation>
  </message>
  <message>
   <source>This version of Potluck does not know the {what} {name}.</source>
   <translation>Diese Version von Potluck kennt {name} nicht ({what}).</translation>
  </message>
  <message>
   <source>This version of Potluck reads its text in another way, so the collaboration on this computer begins anew; the earlier one was kept in {folder}.</source>
   <translation>Diese Version von Potluck liest den Text auf andere Weise, darum beginnt das Projekt auf diesem Rechner neu; das frühere liegt in {folder}.</translation>
  </message>
  <message>
   <source>Those of these steps are: {kept_ones}.</source>
   <translation>Aufbewahrt sind die von diesen Schritten: {kept_ones}.</translation>
  </message>
  <message>
   <source>Threads that train</source>
   <translation>Stränge, die trainieren</translation>
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
   <source>To go on without a question, add --yes.</source>
   <translation>Um ohne Frage weiterzugehen, --yes hinzufügen.</translation>
  </message>
  <message>
   <source>To replace it, add --force.</source>
   <translation>Um ihn zu ersetzen, --force hinzufügen.</translation>
  </message>
  <message>
   <source>Too few experts answer to measure the model.</source>
   <translation>Es antworten zu wenige Experten, um das Modell zu messen.</translation>
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
   <source>Too many windows and commands are connected.</source>
   <translation>Zu viele Fenster und Befehle sind verbunden.</translation>
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
   <source>Train one with `potluck tokenizer train`, or name one of {recipes}.</source>
   <translation>Einen mit `potluck tokenizer train` trainieren, oder einen von diesen nennen: {recipes}.</translation>
  </message>
  <message>
   <source>Train one with `potluck tokenizer train`.</source>
   <translation>Einen mit `potluck tokenizer train` trainieren.</translation>
  </message>
  <message>
   <source>Training</source>
   <translation>Trainiert</translation>
  </message>
  <message>
   <source>Training can use {titles}. All of them are used.</source>
   <translation>Trainieren kann: {titles}. Alle davon werden benutzt.</translation>
  </message>
  <message>
   <source>Training can use {titles}. The first of them is used.</source>
   <translation>Trainieren kann: {titles}. Das erste davon wird benutzt.</translation>
  </message>
  <message>
   <source>Training can use {titles}. The settings say {wish}, and there is no {missing} now.</source>
   <translation>Trainieren kann: {titles}. Eingestellt ist {wish}, und {missing} gibt es gerade nicht.</translation>
  </message>
  <message>
   <source>Training can use {titles}. The settings say {wish}.</source>
   <translation>Trainieren kann: {titles}. Eingestellt ist {wish}.</translation>
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
   <source>Training needs torch, which is not part of Potluck's own package. Without it this computer averages what others have trained.</source>
   <translation>Zum Trainieren braucht es torch, das nicht zum Paket von Potluck gehört. Ohne es mittelt dieser Rechner, was andere trainiert haben.</translation>
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
   <source>Training stopped: {why}.</source>
   <translation>Das Training ist zu Ende: {why}.</translation>
  </message>
  <message>
   <source>Training the tokenizer</source>
   <translation>Lernt, wie sich Text zerlegen lässt</translation>
  </message>
  <message>
   <source>Training this model takes at least {needed} of memory, and {free} are free.</source>
   <translation>Dieses Modell zu trainieren braucht mindestens {needed} Arbeitsspeicher; frei sind {free}.</translation>
  </message>
  <message>
   <source>Training this model takes more than {used} of memory, and you allow {limit_bytes}.</source>
   <translation>Dieses Modell zu trainieren braucht mehr als {used} Arbeitsspeicher; erlaubt sind {limit_bytes}.</translation>
  </message>
  <message>
   <source>Training waits for an expert of layer {layer}; {live} of all {places} are live. It goes on by itself.</source>
   <translation>Das Training wartet auf einen Experten von Schicht {layer}; {live} von allen {places} sind da. Es geht von selbst weiter.</translation>
  </message>
  <message>
   <source>Training {company}.</source>
   <translation>Trainiert {company}.</translation>
  </message>
  <message>
   <source>Training {company}: all {target} samples for step {epoch} are gathered.</source>
   <translation>Trainiert {company}: Alle {target} Beispiele für Schritt {epoch} sind beisammen.</translation>
  </message>
  <message>
   <source>Training {company}: {samples} of {target} samples for step {epoch}.</source>
   <translation>Trainiert {company}: {samples} von {target} Beispielen für Schritt {epoch}.</translation>
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
   <translation>An einem anderen Tag noch einmal versuchen: Die Einladung bleibt, wie sie ist.</translation>
  </message>
  <message>
   <source>Try again in a minute.</source>
   <translation>In einer Minute noch einmal versuchen.</translation>
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
   <source>Try again later, or in another network. If it stays so, tell the people who make Potluck.</source>
   <translation>Später oder in einem anderen Netz noch einmal versuchen. Bleibt es so, denen Bescheid geben, die Potluck machen.</translation>
  </message>
  <message>
   <source>Try again later.</source>
   <translation>Bitte später noch einmal versuchen.</translation>
  </message>
  <message>
   <source>Try again later: it goes on where it was. Behind a proxy, set HTTPS_PROXY.</source>
   <translation>Später noch einmal versuchen: Es geht dort weiter, wo es war. Hinter einem Proxy HTTPS_PROXY setzen.</translation>
  </message>
  <message>
   <source>Try again when it has less to do, or name another source.</source>
   <translation>Noch einmal versuchen, wenn er weniger zu tun hat, oder eine andere Quelle nennen.</translation>
  </message>
  <message>
   <source>Try again when more volunteers are here.</source>
   <translation>Noch einmal versuchen, wenn mehr Mitwirkende da sind.</translation>
  </message>
  <message>
   <source>Try again.</source>
   <translation>Bitte noch einmal versuchen.</translation>
  </message>
  <message>
   <source>Try alone</source>
   <translation>Allein versuchen</translation>
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
   <source>Try it on another member's.</source>
   <translation>Es auf dem Rechner eines anderen Mitglieds versuchen.</translation>
  </message>
  <message>
   <source>Try now</source>
   <translation>Jetzt versuchen</translation>
  </message>
  <message>
   <source>Try: ssh {computer}</source>
   <translation>Versuchen: ssh {computer}</translation>
  </message>
  <message>
   <source>Trying now…</source>
   <translation>Versuch läuft…</translation>
  </message>
  <message>
   <source>Trying whether it starts…</source>
   <translation>Es wird versucht, ob er startet…</translation>
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
   <source>Type again: potluck moderate page</source>
   <translation>Noch einmal eingeben: potluck moderate page</translation>
  </message>
  <message>
   <source>Type it as it was when the key was sealed, or take another copy of it.</source>
   <translation>Sie so eingeben wie beim Versiegeln, oder eine andere Kopie des Schlüssels nehmen.</translation>
  </message>
  <message>
   <source>Type: chmod 600 {file}</source>
   <translation>Eingeben: chmod 600 {file}</translation>
  </message>
  <message>
   <source>Unlock the keyring (and unset POTLUCK_KEYRING), then start Potluck again. {also}</source>
   <translation>Den Schlüsselbund öffnen (und POTLUCK_KEYRING entfernen), dann Potluck neu starten. {also}</translation>
  </message>
  <message>
   <source>Unlock the keyring (and unset POTLUCK_KEYRING), then try again.</source>
   <translation>Den Schlüsselbund öffnen (und POTLUCK_KEYRING entfernen), dann noch einmal versuchen.</translation>
  </message>
  <message>
   <source>Unpacking: {done} of {total}</source>
   <translation>Wird entpackt: {done} von {total}</translation>
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
   <source>Up to {size} each way for a step of the model. {cost}</source>
   <translation>Bis zu {size} in jede Richtung für einen Schritt des Modells. {cost}</translation>
  </message>
  <message>
   <source>Update Potluck here.</source>
   <translation>Potluck hier aktualisieren.</translation>
  </message>
  <message>
   <source>Update Potluck, and look at it again.</source>
   <translation>Potluck aktualisieren, und ihn noch einmal ansehen.</translation>
  </message>
  <message>
   <source>Update Potluck, if the collaboration is of a newer version; else ask for its link again.</source>
   <translation>Potluck aktualisieren, falls das Projekt von einer neueren Version ist; sonst noch einmal nach dem Link fragen.</translation>
  </message>
  <message>
   <source>Update Potluck, then open the link again.</source>
   <translation>Potluck aktualisieren, dann den Link wieder öffnen.</translation>
  </message>
  <message>
   <source>Update Potluck, then sign in again.</source>
   <translation>Potluck aktualisieren, dann noch einmal anmelden.</translation>
  </message>
  <message>
   <source>Update Potluck.</source>
   <translation>Potluck aktualisieren.</translation>
  </message>
  <message>
   <source>Update Potluck; nothing was changed.</source>
   <translation>Potluck aktualisieren; es wurde nichts geändert.</translation>
  </message>
  <message>
   <source>Update Potluck…</source>
   <translation>Potluck aktualisieren…</translation>
  </message>
  <message>
   <source>Use connections that &amp;cost money by the megabyte</source>
   <translation>Verbindungen &amp;benutzen, die nach Datenmenge kosten</translation>
  </message>
  <message>
   <source>Use fewer words.</source>
   <translation>Weniger Wörter verwenden.</translation>
  </message>
  <message>
   <source>Use it again</source>
   <translation>Wieder verwenden</translation>
  </message>
  <message>
   <source>Use printable letters.</source>
   <translation>Druckbare Buchstaben nehmen.</translation>
  </message>
  <message>
   <source>Use the card {name} again</source>
   <translation>Die Karte {name} wieder verwenden</translation>
  </message>
  <message>
   <source>Use the window or the command line of the one that runs, or stop it with: potluck quit</source>
   <translation>Fenster oder Befehle des laufenden benutzen, oder es anhalten mit: potluck quit</translation>
  </message>
  <message>
   <source>Version {version} did not start on this computer, so {running} runs. It is not taken again.</source>
   <translation>Version {version} ist auf diesem Rechner nicht gestartet, deshalb läuft {running}. Sie wird nicht wieder genommen.</translation>
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
   <source>W&amp;ho made it</source>
   <translation>V&amp;on wem er ist</translation>
  </message>
  <message>
   <source>Wait a minute and try again: what is here already is kept.</source>
   <translation>Eine Minute warten und noch einmal versuchen: Was schon hier ist, bleibt.</translation>
  </message>
  <message>
   <source>Wait a moment.</source>
   <translation>Einen Moment warten.</translation>
  </message>
  <message>
   <source>Wait for half a minute.</source>
   <translation>Eine halbe Minute warten.</translation>
  </message>
  <message>
   <source>Wait for it, or name another folder: --charter.</source>
   <translation>Darauf warten, oder einen anderen Ordner nennen: --charter.</translation>
  </message>
  <message>
   <source>Wait for it, or stop it.</source>
   <translation>Darauf warten, oder es anhalten.</translation>
  </message>
  <message>
   <source>Wait for some minutes, then sign in again.</source>
   <translation>Einige Minuten warten, dann noch einmal anmelden.</translation>
  </message>
  <message>
   <source>Wait for some minutes.</source>
   <translation>Einige Minuten warten.</translation>
  </message>
  <message>
   <source>Wait for their answers.</source>
   <translation>Auf ihre Antworten warten.</translation>
  </message>
  <message>
   <source>Wait until the other window or command is ready.</source>
   <translation>Warten, bis das andere Fenster oder der andere Befehl fertig ist.</translation>
  </message>
  <message>
   <source>Waiting</source>
   <translation>Wartet</translation>
  </message>
  <message>
   <source>Waiting for experts</source>
   <translation>Experten fehlen</translation>
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
   <source>Waiting until you have signed in, for {minutes} min…</source>
   <translation>Warten auf die Anmeldung, {minutes} min lang…</translation>
  </message>
  <message>
   <source>Waits</source>
   <translation>Wartet</translation>
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
   <source>What is &amp;new…</source>
   <translation>Was ist &amp;neu…</translation>
  </message>
  <message>
   <source>What is a sample?</source>
   <translation>Was ist ein Beispiel?</translation>
  </message>
  <message>
   <source>What is here already is kept, and it goes on there the next time.</source>
   <translation>Was schon hier ist, bleibt, und dort geht es beim nächsten Mal weiter.</translation>
  </message>
  <message>
   <source>What is learned</source>
   <translation>Was gelernt wird</translation>
  </message>
  <message>
   <source>What is left was kept as {name}. Put a copy back, or start again to join with a new key.</source>
   <translation>Was übrig ist, wurde als {name} aufgehoben. Bitte eine Kopie zurücklegen, oder neu starten, um mit einem neuen Schlüssel beizutreten.</translation>
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
   <source>What it printed or logged says why.</source>
   <translation>Den Grund nennt, was er ausgegeben oder protokolliert hat.</translation>
  </message>
  <message>
   <source>What it wrote above says why.</source>
   <translation>Den Grund nennt, was sie oben geschrieben hat.</translation>
  </message>
  <message>
   <source>What leaves this computer</source>
   <translation>Was diesen Rechner verlässt</translation>
  </message>
  <message>
   <source>What names a column is is:COLUMN, least:COLUMN or most:COLUMN.</source>
   <translation>Eine Spalte nennt man mit is:COLUMN, least:COLUMN oder most:COLUMN.</translation>
  </message>
  <message>
   <source>What runs here</source>
   <translation>Was hier läuft</translation>
  </message>
  <message>
   <source>What starts at login could not be found out.</source>
   <translation>Was beim Anmelden startet, ließ sich nicht herausfinden.</translation>
  </message>
  <message>
   <source>What the collaboration's page answers cannot be read.</source>
   <translation>Was die Seite des Projekts antwortet, lässt sich nicht lesen.</translation>
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
   <source>What was answered is not what the people who make Potluck have signed, so nothing was changed.</source>
   <translation>Die Antwort ist nicht das, was die unterschrieben haben, die Potluck machen; nichts wurde geändert.</translation>
  </message>
  <message>
   <source>What was given day by day could not be read; the damaged file is {name}.</source>
   <translation>Was Tag für Tag gegeben wurde, war nicht lesbar; die beschädigte Datei ist {name}.</translation>
  </message>
  <message>
   <source>What was said above says why.</source>
   <translation>Den Grund nennt, was oben steht.</translation>
  </message>
  <message>
   <source>What was said cannot be used: {error}.</source>
   <translation>Das Gesagte ist nicht brauchbar: {error}.</translation>
  </message>
  <message>
   <source>What you gave stays in the model.</source>
   <translation>Der eigene Beitrag bleibt im Modell.</translation>
  </message>
  <message>
   <source>What you got by signing in lets nobody in any more.</source>
   <translation>Was die Anmeldung ergeben hat, lässt niemanden mehr herein.</translation>
  </message>
  <message>
   <source>When</source>
   <translation>Wann</translation>
  </message>
  <message>
   <source>When &amp;nobody is reached</source>
   <translation>Wenn &amp;niemand erreicht wird</translation>
  </message>
  <message>
   <source>When I &amp;log in starts</source>
   <translation>Beim Anmelden sta&amp;rtet</translation>
  </message>
  <message>
   <source>When hotter &amp;than</source>
   <translation>Wenn heiße&amp;r als</translation>
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
   <source>When something is &amp;reached, such as 100 steps</source>
   <translation>Wenn etwas e&amp;rreicht ist, etwa 100 Schritte</translation>
  </message>
  <message>
   <source>When the &amp;disk is full</source>
   <translation>Wenn die Fest&amp;platte voll ist</translation>
  </message>
  <message>
   <source>When the collaboration &amp;ends</source>
   <translation>Wenn das Projekt &amp;endet</translation>
  </message>
  <message>
   <source>When the window c&amp;loses</source>
   <translation>Beim &amp;Schließen des Fensters</translation>
  </message>
  <message>
   <source>When training &amp;stops and needs you</source>
   <translation>Wenn das &amp;Training stillsteht und Hilfe braucht</translation>
  </message>
  <message>
   <source>Where it &amp;is said</source>
   <translation>Wo sie gesag&amp;t wird</translation>
  </message>
  <message>
   <source>Where its text comes from</source>
   <translation>Woher der Text kommt</translation>
  </message>
  <message>
   <source>Where the model goes</source>
   <translation>Wohin das Modell kommt</translation>
  </message>
  <message>
   <source>Where the shards lie beside their index, leave the address out: the backbone gives them.</source>
   <translation>Wo die Stücke neben ihrem Verzeichnis liegen, die Adresse weglassen: Der Stützpunkt gibt sie.</translation>
  </message>
  <message>
   <source>Where updates lie answers too slowly, so nothing was changed.</source>
   <translation>Wo die Aktualisierungen liegen, antwortet es zu langsam; nichts wurde geändert.</translation>
  </message>
  <message>
   <source>Where updates lie does not answer.</source>
   <translation>Wo die Aktualisierungen liegen, antwortet niemand.</translation>
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
   <source>Who may join</source>
   <translation>Wer mitmachen darf</translation>
  </message>
  <message>
   <source>Who may take part</source>
   <translation>Wer mitmachen darf</translation>
  </message>
  <message>
   <source>Who reaches this computer</source>
   <translation>Wer diesen Rechner erreicht</translation>
  </message>
  <message>
   <source>Why: {words}</source>
   <translation>Warum: {words}</translation>
  </message>
  <message>
   <source>Why? Everybody can read it.</source>
   <translation>Warum? Alle können es lesen.</translation>
  </message>
  <message>
   <source>Windows removes it: Settings, Apps, Potluck, Uninstall.</source>
   <translation>Windows entfernt es: Einstellungen, Apps, Potluck, Deinstallieren.</translation>
  </message>
  <message>
   <source>With a link, from a list of open ones, or one of your own. This computer trains alone where it has joined none.</source>
   <translation>Mit einem Link, aus einer Liste offener, oder ein eigenes. Allein trainiert dieser Rechner, wo er nirgends mitmacht.</translation>
  </message>
  <message>
   <source>With no hour left, Potluck would never work.</source>
   <translation>Ohne eine einzige Stunde würde Potluck nie arbeiten.</translation>
  </message>
  <message>
   <source>With this width and codec micro_batch must be at most {most}, so that a call carries it, not {size}.</source>
   <translation>Bei dieser width und diesem codec darf micro_batch höchstens {most} sein, damit es in einen Aufruf passt, nicht {size}.</translation>
  </message>
  <message>
   <source>With {month} a month this computer could not take part.</source>
   <translation>Mit {month} im Monat könnte dieser Rechner nicht mitmachen.</translation>
  </message>
  <message>
   <source>With {rate} this computer could not stay in touch with the others.</source>
   <translation>Mit {rate} bliebe dieser Rechner mit den anderen nicht in Verbindung.</translation>
  </message>
  <message>
   <source>Withdraw some of them.</source>
   <translation>Einige davon zurückziehen.</translation>
  </message>
  <message>
   <source>Without an end</source>
   <translation>Ohne Ende</translation>
  </message>
  <message>
   <source>Without its window Potluck goes on as it is. {place} When you quit, nothing is computed any more.

Your answer is remembered. You can change it in the menu Potluck, When the window closes.</source>
   <translation>Ohne Fenster macht Potluck weiter wie jetzt. {place} Nach dem Beenden wird nichts mehr gerechnet.

Die Antwort gilt auch künftig. Ändern lässt sie sich im Menü Potluck, Beim Schließen des Fensters.</translation>
  </message>
  <message>
   <source>Words for blank {number}</source>
   <translation>Wörter für Lücke {number}</translation>
  </message>
  <message>
   <source>Words go with an answer.</source>
   <translation>Worte gehören zu einer Antwort.</translation>
  </message>
  <message>
   <source>Write HOST:PORT, as the backbone has told it.</source>
   <translation>HOST:PORT schreiben, wie der Stützpunkt es genannt hat.</translation>
  </message>
  <message>
   <source>Write KEY=VALUE: --set optimizer.learning_rate=0.002</source>
   <translation>KEY=VALUE schreiben: --set optimizer.learning_rate=0.002</translation>
  </message>
  <message>
   <source>Write OWNER/NAME, such as ada/rhymes.</source>
   <translation>OWNER/NAME schreiben, etwa ada/rhymes.</translation>
  </message>
  <message>
   <source>Write SOURCE/SHARD/ROW: 0/3/17.</source>
   <translation>SOURCE/SHARD/ROW schreiben: 0/3/17.</translation>
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
   <source>Write all of it with potluck export DIR, whose README.md says how it is loaded.</source>
   <translation>Als Ganzes schreiben: potluck export DIR; dessen README.md sagt, wie man es lädt.</translation>
  </message>
  <message>
   <source>Write an IP address, or a name such as potluck.example.org, without a port.</source>
   <translation>Eine IP-Adresse schreiben, oder einen Namen wie potluck.example.org, ohne Port.</translation>
  </message>
  <message>
   <source>Write each source below a line [[data]].</source>
   <translation>Jede Quelle unter eine Zeile [[data]] schreiben.</translation>
  </message>
  <message>
   <source>Write it from the root on.</source>
   <translation>Ihn von der Wurzel an schreiben.</translation>
  </message>
  <message>
   <source>Write it like this: 1h, 30min, 2d.</source>
   <translation>So schreiben: 1h, 30min, 2d.</translation>
  </message>
  <message>
   <source>Write it like this: 2026-11-24, or '2026-11-24 18:30'.</source>
   <translation>So schreiben: 2026-11-24, oder '2026-11-24 18:30'.</translation>
  </message>
  <message>
   <source>Write it like this: 2mbit (a second), 500kbit, 1.5MB, or none for no limit.</source>
   <translation>So schreiben: 2mbit (in der Sekunde), 500kbit, 1.5MB, oder none für keine Grenze.</translation>
  </message>
  <message>
   <source>Write it like this: 50GB, 800MB, or none for no limit.</source>
   <translation>So schreiben: 50GB, 800MB, oder none für keine Grenze.</translation>
  </message>
  <message>
   <source>Write it like this: characters_least=3.</source>
   <translation>So schreiben: characters_least=3.</translation>
  </message>
  <message>
   <source>Write it like this: {example}</source>
   <translation>So schreiben: {example}</translation>
  </message>
  <message>
   <source>Write one name a line there.</source>
   <translation>Dort einen Namen je Zeile hineinschreiben.</translation>
  </message>
  <message>
   <source>Write them as {"threads": 2}.</source>
   <translation>Sie so schreiben: {"threads": 2}.</translation>
  </message>
  <message>
   <source>Write tomorrow, or a time of the day like this: 18:30.</source>
   <translation>tomorrow schreiben, oder eine Uhrzeit wie 18:30.</translation>
  </message>
  <message>
   <source>Write whole gigabytes, as in 4 or 4GB.</source>
   <translation>Ganze Gigabyte schreiben, wie in 4 oder 4GB.</translation>
  </message>
  <message>
   <source>Writing for TensorBoard needs the package tensorboard, which is not installed.</source>
   <translation>Für TensorBoard zu schreiben braucht das Paket tensorboard, das nicht installiert ist.</translation>
  </message>
  <message>
   <source>Writing the files</source>
   <translation>Die Dateien werden geschrieben</translation>
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
   <source>You are not on the list of those whom this collaboration lets in.</source>
   <translation>Dieses Konto steht nicht auf der Liste derer, die das Projekt aufnimmt.</translation>
  </message>
  <message>
   <source>You are number {rank} of {all}.</source>
   <translation>Platz {rank} von {all}.</translation>
  </message>
  <message>
   <source>You are signed out here.</source>
   <translation>Dieser Rechner ist abgemeldet.</translation>
  </message>
  <message>
   <source>You can make further links at any time, and shut somebody out. Your own computer needs none.</source>
   <translation>Jederzeit lassen sich weitere Links machen und Mitglieder ausschließen. Der eigene Rechner braucht keinen Link.</translation>
  </message>
  <message>
   <source>You founded it, and take no part in it now.</source>
   <translation>Selbst gegründet; dieser Rechner macht gerade nicht mit.</translation>
  </message>
  <message>
   <source>You founded it, but its backbone does not run: {why}</source>
   <translation>Selbst gegründet, aber sein Stützpunkt läuft nicht: {why}</translation>
  </message>
  <message>
   <source>You founded it. Its backbone is off: nobody new comes in, the others train on for 4 days.</source>
   <translation>Selbst gegründet. Sein Stützpunkt ist aus: Niemand Neues kommt herein, die anderen trainieren 4 Tage weiter.</translation>
  </message>
  <message>
   <source>You founded it: its backbone on this computer stops too, and the others train on for 4 days without it. You can come back here, with all that was given.</source>
   <translation>Selbst gegründet: Sein Stützpunkt auf diesem Rechner hält auch an, und die anderen trainieren 4 Tage ohne ihn weiter. Eine Rückkehr ist möglich, mit allem, was gegeben wurde.</translation>
  </message>
  <message>
   <source>You founded it: its backbone, which lets others in, runs as long as Potluck does.</source>
   <translation>Selbst gegründet: Sein Stützpunkt, der andere hereinlässt, läuft, solange Potluck läuft.</translation>
  </message>
  <message>
   <source>You founded it: its backbone, which lets others in, starts with Potluck.</source>
   <translation>Selbst gegründet: Sein Stützpunkt, der andere hereinlässt, startet mit Potluck.</translation>
  </message>
  <message>
   <source>You gave nothing yet</source>
   <translation>Noch nichts gegeben</translation>
  </message>
  <message>
   <source>You gave {samples} samples</source>
   <translation>{samples} Beispiele gegeben</translation>
  </message>
  <message>
   <source>You have asked to be let in, and a moderator has not answered yet.</source>
   <translation>Die Anfrage ist gestellt, und die Moderation hat noch nicht geantwortet.</translation>
  </message>
  <message>
   <source>You have asked too often.</source>
   <translation>Es gab zu viele Anfragen.</translation>
  </message>
  <message>
   <source>You have left {collaboration}. What you gave stays in its model.</source>
   <translation>Dieser Rechner hat {collaboration} verlassen. Sein Beitrag bleibt im Modell.</translation>
  </message>
  <message>
   <source>You sign in at {site}, in your browser.</source>
   <translation>Anmeldung unter {site}, im Browser.</translation>
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
   <source>You take part in {name}.</source>
   <translation>Dieser Rechner macht bei {name} mit.</translation>
  </message>
  <message>
   <source>Your account has as many computers as it may, with those that were ended.</source>
   <translation>Dieses Konto hat so viele Rechner, wie es darf, beendete mitgezählt.</translation>
  </message>
  <message>
   <source>Your account has asked too often.</source>
   <translation>Das eigene Konto hat zu oft gefragt.</translation>
  </message>
  <message>
   <source>Your account has ended this computer.</source>
   <translation>Das eigene Konto hat diesen Rechner ausgeschlossen.</translation>
  </message>
  <message>
   <source>Your account is taken out.</source>
   <translation>Das Konto ist ausgetragen.</translation>
  </message>
  <message>
   <source>Your choice holds, but only until the next start: {problem}</source>
   <translation>Die Wahl gilt, aber nur bis zum nächsten Start: {problem}</translation>
  </message>
  <message>
   <source>Your gift today</source>
   <translation>Der Beitrag von heute</translation>
  </message>
  <message>
   <source>Your meter says less than {limit}. Potluck continues when it has said more for a minute.</source>
   <translation>Der eigene Zähler sagt weniger als {limit}. Potluck macht weiter, wenn er eine Minute lang mehr gesagt hat.</translation>
  </message>
  <message>
   <source>Your meter says more than {limit}. Potluck continues when it has said less for a minute.</source>
   <translation>Der eigene Zähler sagt mehr als {limit}. Potluck macht weiter, wenn er eine Minute lang weniger gesagt hat.</translation>
  </message>
  <message>
   <source>Your name</source>
   <translation>Name</translation>
  </message>
  <message>
   <source>Your settings, your key and the models that are here stay in {folder}: delete that, too, if nothing is to stay.</source>
   <translation>Die Einstellungen, der Schlüssel und die Modelle hier bleiben in {folder}: Auch das löschen, wenn nichts bleiben soll.</translation>
  </message>
  <message>
   <source>Your software centre removes it, or in a terminal: sudo apt purge potluck</source>
   <translation>Die Softwareverwaltung entfernt es, oder in einem Terminal: sudo apt purge potluck</translation>
  </message>
  <message>
   <source>Your system does not tell what the grey rules need: they would stop nothing.</source>
   <translation>Was die grauen Regeln brauchen, verrät dieses System nicht: Sie würden nichts anhalten.</translation>
  </message>
  <message>
   <source>Your team {team} is number {rank} of {all}.</source>
   <translation>Das eigene Team {team} ist Nummer {rank} von {all}.</translation>
  </message>
  <message>
   <source>Your token of the hub has letters that a token cannot have.</source>
   <translation>Das eigene Token des Hubs hat Zeichen, die ein Token nicht haben kann.</translation>
  </message>
  <message>
   <source>Your upload limit of {limit} makes everybody's steps longer, about {longer} s instead of {shorter} s: the others wait until this computer has sent its part. You can raise it in the settings.</source>
   <translation>Die eigene Grenze von {limit} fürs Hochladen verlängert die Schritte aller auf etwa {longer} s statt {shorter} s: Die anderen warten, bis dieser Rechner seinen Teil gesendet hat. In den Einstellungen lässt sie sich erhöhen.</translation>
  </message>
  <message>
   <source>Your week</source>
   <translation>Die Woche</translation>
  </message>
  <message>
   <source>[experts] must have width {width} and {layers} layers, as [model] has, not {other} and {others}.</source>
   <translation>[experts] muss die Breite {width} und {layers} Schichten haben wie [model], nicht {other} und {others}.</translation>
  </message>
  <message>
   <source>a computer</source>
   <translation>ein Rechner</translation>
  </message>
  <message>
   <source>about {time} left</source>
   <translation>noch etwa {time}</translation>
  </message>
  <message>
   <source>after step {step}</source>
   <translation>nach Schritt {step}</translation>
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
   <source>an address, a file or a program that says a number: a price, the sun's watts</source>
   <translation>eine Adresse, eine Datei oder ein Programm, das eine Zahl sagt: ein Preis, die Watt der Sonne</translation>
  </message>
  <message>
   <source>as on the page Hours; empty: at none</source>
   <translation>wie auf der Seite Zeiten; leer: zu keinen</translation>
  </message>
  <message>
   <source>as the recipe says</source>
   <translation>wie das Rezept sagt</translation>
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
   <source>ask everybody whether they go on at {name}</source>
   <translation>alle fragen, ob sie bei {name} weitermachen</translation>
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
   <source>by step; lower is better</source>
   <translation>nach Schritten; je tiefer, desto besser</translation>
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
   <source>change {words} in a way that has no word here</source>
   <translation>{words} ändern, wofür es hier kein Wort gibt</translation>
  </message>
  <message>
   <source>computers</source>
   <translation>Rechner</translation>
  </message>
  <message>
   <source>days</source>
   <translation>Tage</translation>
  </message>
  <message>
   <source>digit frequencies</source>
   <translation>Häufigkeiten der Ziffern</translation>
  </message>
  <message>
   <source>digit loss</source>
   <translation>Verlust bei Ziffern</translation>
  </message>
  <message>
   <source>digits</source>
   <translation>Ziffern</translation>
  </message>
  <message>
   <source>does not compute ({error})</source>
   <translation>rechnet nicht ({error})</translation>
  </message>
  <message>
   <source>does not compute in {precision} ({error})</source>
   <translation>rechnet nicht in {precision} ({error})</translation>
  </message>
  <message>
   <source>does not let this computer take part</source>
   <translation>lässt diesen Rechner nicht mitmachen</translation>
  </message>
  <message>
   <source>end all passes that the backbone {name} has given</source>
   <translation>alle Ausweise beenden, die der Stützpunkt {name} ausgegeben hat</translation>
  </message>
  <message>
   <source>end the collaboration: {words}</source>
   <translation>das Projekt beenden: {words}</translation>
  </message>
  <message>
   <source>ended</source>
   <translation>beendet</translation>
  </message>
  <message>
   <source>fails: {error}</source>
   <translation>geht nicht: {error}</translation>
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
   <source>gives wrong results</source>
   <translation>liefert falsche Ergebnisse</translation>
  </message>
  <message>
   <source>gives wrong results in {precision}</source>
   <translation>liefert in {precision} falsche Ergebnisse</translation>
  </message>
  <message>
   <source>go back to the model of step {count}, root {name}</source>
   <translation>zurück zum Modell von Schritt {count}, Wurzel {name}</translation>
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
   <source>have everybody compute again</source>
   <translation>alle wieder rechnen lassen</translation>
  </message>
  <message>
   <source>have nobody compute: {words}</source>
   <translation>niemanden rechnen lassen: {words}</translation>
  </message>
  <message>
   <source>have the backbone {name} let nobody in any more</source>
   <translation>der Stützpunkt {name} lässt niemanden mehr herein</translation>
  </message>
  <message>
   <source>have the backbone {name} let people in, at {words}</source>
   <translation>der Stützpunkt {name} lässt Leute herein, unter {words}</translation>
  </message>
  <message>
   <source>have {count} of them agree</source>
   <translation>{count} von ihnen müssen zustimmen</translation>
  </message>
  <message>
   <source>held-out loss {loss}</source>
   <translation>Verlust am Prüftext {loss}</translation>
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
   <source>in the processor, or in a card</source>
   <translation>im Prozessor oder in einer Karte</translation>
  </message>
  <message>
   <source>in the processor, or in the card that computes</source>
   <translation>im Prozessor oder in der Karte, die rechnet</translation>
  </message>
  <message>
   <source>is no faster in {precision} than in fp32 ({times} times as long)</source>
   <translation>ist in {precision} nicht schneller als in fp32 (dauert {times}-mal so lang)</translation>
  </message>
  <message>
   <source>is used by another program</source>
   <translation>wird von einem anderen Programm benutzt</translation>
  </message>
  <message>
   <source>it &amp;computes</source>
   <translation>rechnet &amp;er</translation>
  </message>
  <message>
   <source>it computes at &amp;most</source>
   <translation>rechnet er höc&amp;hstens</translation>
  </message>
  <message>
   <source>it says {number} now</source>
   <translation>jetzt sagt er {number}</translation>
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
   <source>make {name} a moderator</source>
   <translation>{name} in die Moderation aufnehmen</translation>
  </message>
  <message>
   <source>memory ran out</source>
   <translation>der Speicher reichte nicht</translation>
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
   <source>names as above, or folders such as ~/Games; both lists take them</source>
   <translation>Namen wie oben, oder Ordner wie ~/Games; beide Listen nehmen sie</translation>
  </message>
  <message>
   <source>nats</source>
   <translation>nat</translation>
  </message>
  <message>
   <source>no key, no touch, no movement of the mouse</source>
   <translation>keine Taste, keine Berührung, keine Bewegung der Maus</translation>
  </message>
  <message>
   <source>nobody here yet</source>
   <translation>noch niemand da</translation>
  </message>
  <message>
   <source>nobody is named</source>
   <translation>niemand wird genannt</translation>
  </message>
  <message>
   <source>not named</source>
   <translation>nicht genannt</translation>
  </message>
  <message>
   <source>of a model with experts; they answer others, and 0 is for none</source>
   <translation>eines Modells mit Experten; sie antworten anderen, und 0 heißt: keine</translation>
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
   <source>of the time, in place of the share on the first page</source>
   <translation>der Zeit, anstelle des Anteils auf der ersten Seite</translation>
  </message>
  <message>
   <source>of the time; less keeps the computer cool and quiet</source>
   <translation>der Zeit; weniger hält den Rechner kühl und leise</translation>
  </message>
  <message>
   <source>of the time; the first page has a heat at which it rests</source>
   <translation>der Zeit; die erste Seite hat eine Wärme, bei der er ruht</translation>
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
   <source>one day</source>
   <translation>einem Tag</translation>
  </message>
  <message>
   <source>parts clipped: {clipped}; dropped: {dropped}</source>
   <translation>Teile gekappt: {clipped}; verworfen: {dropped}</translation>
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
   <source>rpm</source>
   <translation>U/min</translation>
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
   <source>since {moment}</source>
   <translation>seit {moment}</translation>
  </message>
  <message>
   <source>step {epoch}</source>
   <translation>Schritt {epoch}</translation>
  </message>
  <message>
   <source>such as a price of electricity</source>
   <translation>etwa ein Strompreis</translation>
  </message>
  <message>
   <source>such as the power that your roof has to spare</source>
   <translation>etwa die Leistung, die das eigene Dach übrig hat</translation>
  </message>
  <message>
   <source>take {name} from the moderators</source>
   <translation>{name} aus der Moderation nehmen</translation>
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
   <translation>der Stützpunkt und andere Mitwirkende</translation>
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
   <source>the documentation that came with Python</source>
   <translation>die Dokumentation, die mit Python kam</translation>
  </message>
  <message>
   <source>the founder</source>
   <translation>die Leitung</translation>
  </message>
  <message>
   <source>the last key or touch</source>
   <translation>die letzte Taste oder Berührung</translation>
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
   <source>the processor</source>
   <translation>der Prozessor</translation>
  </message>
  <message>
   <source>the processor's heat</source>
   <translation>die Wärme des Prozessors</translation>
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
   <source>traffic a day</source>
   <translation>Daten am Tag</translation>
  </message>
  <message>
   <source>turns a minute, of the fastest fan</source>
   <translation>Umdrehungen in der Minute, des schnellsten Lüfters</translation>
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
   <source>where training holds more, it rests and gives it back</source>
   <translation>hält das Training mehr, ruht es und gibt ihn zurück</translation>
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
   <source>{address} cannot be a mirror.</source>
   <translation>{address} kann kein Spiegel sein.</translation>
  </message>
  <message>
   <source>{address} cannot be asked for a list.</source>
   <translation>{address} kann nicht nach einer Liste gefragt werden.</translation>
  </message>
  <message>
   <source>{address} cannot be used: {error}.</source>
   <translation>{address} ist nicht brauchbar: {error}.</translation>
  </message>
  <message>
   <source>{address} is not a folder that you have named.</source>
   <translation>{address} ist kein Ordner, der genannt wurde.</translation>
  </message>
  <message>
   <source>{address} is not a mirror.</source>
   <translation>{address} ist kein Spiegel.</translation>
  </message>
  <message>
   <source>{address} is not the whole path of a folder.</source>
   <translation>{address} ist nicht der ganze Pfad eines Ordners.</translation>
  </message>
  <message>
   <source>{address} is not what it was when it was cut.</source>
   <translation>{address} ist nicht, was es beim Zerlegen war.</translation>
  </message>
  <message>
   <source>{address} names no files, or more than {most}.</source>
   <translation>{address} nennt keine Dateien, oder mehr als {most}.</translation>
  </message>
  <message>
   <source>{address}/{name} cannot be {what}: {error}.</source>
   <translation>{address}/{name} ({what}) geht nicht: {error}.</translation>
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
   <source>{bad} of {count} receipts do not match their signatures.</source>
   <translation>{bad} von {count} Quittungen passen nicht zu ihren Unterschriften.</translation>
  </message>
  <message>
   <source>{busy} This time port {port} is used for other peers.</source>
   <translation>{busy} Diesmal dient Port {port} für die anderen.</translation>
  </message>
  <message>
   <source>{by_ipv4} Volunteers with IPv6 reach it directly.</source>
   <translation>{by_ipv4} Wer IPv6 hat, erreicht ihn direkt.</translation>
  </message>
  <message>
   <source>{called} cannot be read: {error}.</source>
   <translation>{called} lässt sich nicht lesen: {error}.</translation>
  </message>
  <message>
   <source>{called} cannot be used: {error}.</source>
   <translation>{called} ist nicht brauchbar: {error}.</translation>
  </message>
  <message>
   <source>{called} has {count} bytes; a recipe has at most {most}.</source>
   <translation>{called} hat {count} Byte; ein Rezept hat höchstens {most}.</translation>
  </message>
  <message>
   <source>{called} has {count} bytes; {most} are the most.</source>
   <translation>{called} hat {count} Byte; {most} sind das Höchste.</translation>
  </message>
  <message>
   <source>{called} is not a TOML file: {error}.</source>
   <translation>{called} ist keine TOML-Datei: {error}.</translation>
  </message>
  <message>
   <source>{called} is of another model: {why}.</source>
   <translation>{called} gehört zu einem anderen Modell: {why}.</translation>
  </message>
  <message>
   <source>{called} {refusal}: training computes in fp32, which takes part like any other.</source>
   <translation>{called} {refusal}: Das Training rechnet in fp32, womit es mitmacht wie jedes andere.</translation>
  </message>
  <message>
   <source>{called}: [averaging] {problem}</source>
   <translation>{called}: [averaging] {problem}</translation>
  </message>
  <message>
   <source>{called}: [rule] {problem}</source>
   <translation>{called}: [rule] {problem}</translation>
  </message>
  <message>
   <source>{called}: data must be tables.</source>
   <translation>{called}: data muss aus Tabellen bestehen.</translation>
  </message>
  <message>
   <source>{called}: task must be one of {tasks}, not {task}.</source>
   <translation>{called}: task muss eines von {tasks} sein, nicht {task}.</translation>
  </message>
  <message>
   <source>{called}: text and [[data]] name the text twice.</source>
   <translation>{called}: text und [[data]] nennen den Text zweimal.</translation>
  </message>
  <message>
   <source>{called}: there are {count} tables [[data]]; 1 to {most} are allowed.</source>
   <translation>{called}: Es gibt {count} Tabellen [[data]]; erlaubt sind 1 bis {most}.</translation>
  </message>
  <message>
   <source>{called}: {tables} is not a table.</source>
   <translation>{called}: {tables} ist keine Tabelle.</translation>
  </message>
  <message>
   <source>{called}: {title} {number_name} must be a finite number, not {number}.</source>
   <translation>{called}: {title} {number_name} muss eine endliche Zahl sein, nicht {number}.</translation>
  </message>
  <message>
   <source>{card} tells of itself.</source>
   <translation>{card} gibt Auskunft über sich.</translation>
  </message>
  <message>
   <source>{collaboration} goes on by itself when it does.</source>
   <translation>{collaboration} geht von selbst weiter, sobald er antwortet.</translation>
  </message>
  <message>
   <source>{computer} does not answer.</source>
   <translation>{computer} antwortet nicht.</translation>
  </message>
  <message>
   <source>{computer} gives no valid engine.json.</source>
   <translation>{computer} gibt kein gültiges engine.json.</translation>
  </message>
  <message>
   <source>{computer} is not the name of a computer.</source>
   <translation>{computer} ist kein Name eines Rechners.</translation>
  </message>
  <message>
   <source>{count} computers are shut out.</source>
   <translation>{count} Rechner sind ausgeschlossen.</translation>
  </message>
  <message>
   <source>{count} entries cannot be used, and were left out.</source>
   <translation>{count} Einträge sind unbrauchbar und wurden weggelassen.</translation>
  </message>
  <message>
   <source>{count} of your computers are called {words}.</source>
   <translation>{count} der eigenen Rechner heißen {words}.</translation>
  </message>
  <message>
   <source>{count} of {places} experts are missing (layer: place): {named}{more}.</source>
   <translation>{count} von {places} Experten fehlen (Schicht: Platz): {named}{more}.</translation>
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
   <source>{epochs} of the model's steps have your work in them: {samples} samples, in {duration} of contributing.</source>
   <translation>In {epochs} Schritten des Modells steckt Arbeit dieses Rechners: {samples} Beispiele, in {duration} Mitrechnen.</translation>
  </message>
  <message>
   <source>{error}.</source>
   <translation>{error}.</translation>
  </message>
  <message>
   <source>{file} cannot be read.</source>
   <translation>{file} lässt sich nicht lesen.</translation>
  </message>
  <message>
   <source>{file} cannot be read: {why}.</source>
   <translation>{file} kann nicht gelesen werden: {why}.</translation>
  </message>
  <message>
   <source>{file} has a file that leads out of the folder.</source>
   <translation>{file} enthält eine Datei, die aus dem Ordner hinausführt.</translation>
  </message>
  <message>
   <source>{file} is a backup of another collaboration.</source>
   <translation>{file} ist eine Sicherung eines anderen Projekts.</translation>
  </message>
  <message>
   <source>{file} is not a backup of a collaboration.</source>
   <translation>{file} ist keine Sicherung eines Projekts.</translation>
  </message>
  <message>
   <source>{file} is not text in UTF-8, or has more than {most} bytes.</source>
   <translation>{file} ist kein Text in UTF-8 oder hat mehr als {most} Bytes.</translation>
  </message>
  <message>
   <source>{file} is not the file that this version of Potluck names, so it was not installed.</source>
   <translation>{file} ist nicht die Datei, die diese Version von Potluck nennt, darum wurde sie nicht installiert.</translation>
  </message>
  <message>
   <source>{file} is there already; nothing in it was changed.</source>
   <translation>{file} gibt es schon; daran wurde nichts geändert.</translation>
  </message>
  <message>
   <source>{file}, {place}: {why}.</source>
   <translation>{file}, {place}: {why}.</translation>
  </message>
  <message>
   <source>{file}: there is no file {list} beside it.</source>
   <translation>{file}: Daneben liegt keine Datei {list}.</translation>
  </message>
  <message>
   <source>{folder} holds shards that were cut earlier, and other files, such as {other}.</source>
   <translation>{folder} enthält Stücke von früher und andere Dateien, zum Beispiel {other}.</translation>
  </message>
  <message>
   <source>{folder} is not a folder.</source>
   <translation>{folder} ist kein Ordner.</translation>
  </message>
  <message>
   <source>{folder} is there already; nothing in it was changed.</source>
   <translation>{folder} gibt es schon; darin wurde nichts geändert.</translation>
  </message>
  <message>
   <source>{free} GB are free where Potluck keeps its things ({folder}).</source>
   <translation>{free} GB sind frei, wo Potluck seine Dateien hat ({folder}).</translation>
  </message>
  <message>
   <source>{headline}. {sentence}</source>
   <translation>{headline}. {sentence}</translation>
  </message>
  <message>
   <source>{hosts}, about {size} a day</source>
   <translation>{hosts}, etwa {size} am Tag</translation>
  </message>
  <message>
   <source>{host} does not answer.</source>
   <translation>{host} antwortet nicht.</translation>
  </message>
  <message>
   <source>{host} has no list there ({status}).</source>
   <translation>{host} hat dort keine Liste ({status}).</translation>
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
   <source>{index_copy} is the index of other shards than those in {address}.</source>
   <translation>{index_copy} ist das Verzeichnis anderer Stücke als derer in {address}.</translation>
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
   <source>{mains} The battery is charged to {share}.</source>
   <translation>{mains} Der Akku ist zu {share} geladen.</translation>
  </message>
  <message>
   <source>{message} {hint}</source>
   <translation>{message} {hint}</translation>
  </message>
  <message>
   <source>{mine} samples from this computer wait until others are there again.</source>
   <translation>{mine} Beispiele von diesem Rechner warten, bis wieder andere da sind.</translation>
  </message>
  <message>
   <source>{missing} of its {places} experts live nowhere now, and are not in it.</source>
   <translation>{missing} seiner {places} Experten wohnen gerade nirgends und fehlen darin.</translation>
  </message>
  <message>
   <source>{money} in your money</source>
   <translation>{money} in der eigenen Währung</translation>
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
   <source>{name} (shut out)</source>
   <translation>{name} (ausgeschlossen)</translation>
  </message>
  <message>
   <source>{name} (you)</source>
   <translation>{name} (hier)</translation>
  </message>
  <message>
   <source>{name} alone</source>
   <translation>{name} allein</translation>
  </message>
  <message>
   <source>{name} alone: {loss}</source>
   <translation>{name} allein: {loss}</translation>
  </message>
  <message>
   <source>{name} asked on {day} whether all moderators can still sign. Not yet signed: {names}.</source>
   <translation>{name} hat am {day} gefragt, ob alle aus der Moderation noch unterschreiben können. Noch nicht unterschrieben: {names}.</translation>
  </message>
  <message>
   <source>{name} asked on {day} whether all moderators can still sign. {names} have not for 7 days: if they are gone, put others in their place.</source>
   <translation>{name} hat am {day} gefragt, ob alle aus der Moderation noch unterschreiben können. Seit 7 Tagen nicht unterschrieben: {names}. Wenn sie nicht mehr da sind, sollten andere an ihre Stelle treten.</translation>
  </message>
  <message>
   <source>{name} asked on {day} whether all moderators can still sign: all have.</source>
   <translation>{name} hat am {day} gefragt, ob alle aus der Moderation noch unterschreiben können: Alle haben es getan.</translation>
  </message>
  <message>
   <source>{name} cannot be read: {why}.</source>
   <translation>{name} lässt sich nicht lesen: {why}.</translation>
  </message>
  <message>
   <source>{name} changed while it was read.</source>
   <translation>{name} hat sich beim Lesen geändert.</translation>
  </message>
  <message>
   <source>{name} does not answer.</source>
   <translation>{name} antwortet nicht.</translation>
  </message>
  <message>
   <source>{name} has come to its end.</source>
   <translation>{name} ist zu Ende gekommen.</translation>
  </message>
  <message>
   <source>{name} has come to its end; there is nothing left to compute.</source>
   <translation>{name} ist zu Ende; es gibt nichts mehr zu rechnen.</translation>
  </message>
  <message>
   <source>{name} has {why}.</source>
   <translation>{name}: {why}.</translation>
  </message>
  <message>
   <source>{name} holds no text files that can be read.</source>
   <translation>{name} enthält keine lesbaren Textdateien.</translation>
  </message>
  <message>
   <source>{name} is founded. Send this link to those who may join.</source>
   <translation>{name} ist gegründet. Diesen Link denen schicken, die mitmachen dürfen.</translation>
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
   <source>{name} is larger than it may be.</source>
   <translation>{name} ist größer, als es sein darf.</translation>
  </message>
  <message>
   <source>{name} is not a valid folder of programs.</source>
   <translation>{name} ist kein gültiger Ordner mit Programmen.</translation>
  </message>
  <message>
   <source>{name} is not a valid name of a program.</source>
   <translation>{name} ist kein gültiger Name eines Programms.</translation>
  </message>
  <message>
   <source>{name} is not among what the people who make Potluck have signed.</source>
   <translation>{name} gehört nicht zu dem, was die unterschrieben haben, die Potluck machen.</translation>
  </message>
  <message>
   <source>{name} is not there, or has no files.</source>
   <translation>{name} ist nicht da oder hat keine Dateien.</translation>
  </message>
  <message>
   <source>{name} is not what the server gives: that is a page for people, or another part of it.</source>
   <translation>{name} ist nicht, was der Server gibt: Das ist eine Seite für Menschen, oder ein anderer Teil davon.</translation>
  </message>
  <message>
   <source>{name} is too large for a recipe.</source>
   <translation>{name} ist zu groß für ein Rezept.</translation>
  </message>
  <message>
   <source>{name} is {samples} behind.</source>
   <translation>{name} liegt {samples} dahinter.</translation>
  </message>
  <message>
   <source>{name} leads into a private network.</source>
   <translation>{name} führt in ein privates Netz.</translation>
  </message>
  <message>
   <source>{name} lets nobody new in.</source>
   <translation>{name} lässt niemand Neues herein.</translation>
  </message>
  <message>
   <source>{name} may not be read.</source>
   <translation>{name} darf nicht gelesen werden.</translation>
  </message>
  <message>
   <source>{name} unfolds to more memory than any text needs.</source>
   <translation>{name} entfaltet sich zu mehr Speicher, als irgendein Text braucht.</translation>
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
   <source>{name}, key {key}, {computers} computers, {share} of all samples</source>
   <translation>{name}, Schlüssel {key}, {computers} Rechner, {share} aller Beispiele</translation>
  </message>
  <message>
   <source>{name}, organised by {organiser}</source>
   <translation>{name}, Leitung: {organiser}</translation>
  </message>
  <message>
   <source>{name}, peer {peer}, part of {epochs} steps</source>
   <translation>{name}, Kennung {peer}, an {epochs} Schritten beteiligt</translation>
  </message>
  <message>
   <source>{name}, signed {moment} by the key {fingerprint}. Compare that with the one that its maker shows you.</source>
   <translation>{name}, unterschrieben {moment} mit dem Schlüssel {fingerprint}. Ihn mit dem vergleichen, den der Macher zeigt.</translation>
  </message>
  <message>
   <source>{name}, {role}, peer {peer}, at step {epoch}, {samples} samples in this one</source>
   <translation>{name}, {role}, Kennung {peer}, bei Schritt {epoch}, darin {samples} Beispiele</translation>
  </message>
  <message>
   <source>{needed} MB are needed in {folder}, and {free} MB are free.</source>
   <translation>In {folder} werden {needed} MB gebraucht, {free} MB sind frei.</translation>
  </message>
  <message>
   <source>{network} It is not metered.</source>
   <translation>{network} Sie kostet nicht nach Menge.</translation>
  </message>
  <message>
   <source>{network} The system says that this connection is metered.</source>
   <translation>{network} Das System sagt, dass die Verbindung nach Menge kostet.</translation>
  </message>
  <message>
   <source>{note} There are: {there}.</source>
   <translation>{note} Es gibt: {there}.</translation>
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
   <source>{number} days</source>
   <translation>{number} Tagen</translation>
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
   <source>{obstacle}.</source>
   <translation>{obstacle}.</translation>
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
   <source>{out} holds the shards of another source, or of this one as it was, or cut otherwise.</source>
   <translation>{out} enthält die Stücke einer anderen Quelle, oder dieser, wie sie war, oder anders geschnitten.</translation>
  </message>
  <message>
   <source>{path} cannot be read: {error}.</source>
   <translation>{path} lässt sich nicht lesen: {error}.</translation>
  </message>
  <message>
   <source>{path} could not be read: {error}.</source>
   <translation>{path} konnte nicht gelesen werden: {error}.</translation>
  </message>
  <message>
   <source>{path} could not be written: {error}.</source>
   <translation>{path} konnte nicht geschrieben werden: {error}.</translation>
  </message>
  <message>
   <source>{path} does not match the index beside it.</source>
   <translation>{path} passt nicht zum Verzeichnis daneben.</translation>
  </message>
  <message>
   <source>{path} is full.</source>
   <translation>{path} ist voll.</translation>
  </message>
  <message>
   <source>{path} is not the shard of the index.</source>
   <translation>{path} ist nicht das Stück des Verzeichnisses.</translation>
  </message>
  <message>
   <source>{path} is too long to be read.</source>
   <translation>{path} ist zu lang, um gelesen zu werden.</translation>
  </message>
  <message>
   <source>{path}: {problem}</source>
   <translation>{path}: {problem}</translation>
  </message>
  <message>
   <source>{place} does not give the file (answer {status}).</source>
   <translation>{place} gibt die Datei nicht heraus (Antwort {status}).</translation>
  </message>
  <message>
   <source>{problems}: training uses {uses}.</source>
   <translation>{problems}: Das Training benutzt: {uses}.</translation>
  </message>
  <message>
   <source>{problem} It is process {pid}.</source>
   <translation>{problem} Es ist Prozess {pid}.</translation>
  </message>
  <message>
   <source>{program} does not start: {why}.</source>
   <translation>{program} startet nicht: {why}.</translation>
  </message>
  <message>
   <source>{refusal} The page says: {words}</source>
   <translation>{refusal} Die Seite sagt dazu: {words}</translation>
  </message>
  <message>
   <source>{refusal} This ends at {moment}.</source>
   <translation>{refusal} Das endet um {moment}.</translation>
  </message>
  <message>
   <source>{repository} is not the name of a model on the hub.</source>
   <translation>{repository} ist kein Name eines Modells auf dem Hub.</translation>
  </message>
  <message>
   <source>{right} {guesses} right at step {epoch}</source>
   <translation>{right} {guesses} richtig bei Schritt {epoch}</translation>
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
   <source>{samples}.</source>
   <translation>{samples}.</translation>
  </message>
  <message>
   <source>{samples}; last took part {moment}.</source>
   <translation>{samples}; zuletzt dabei {moment}.</translation>
  </message>
  <message>
   <source>{sample} is not the number of a sample.</source>
   <translation>{sample} ist keine Nummer eines Beispiels.</translation>
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
   <translation>{share}: {source}</translation>
  </message>
  <message>
   <source>{share} of the numbers, {rounds} rounds</source>
   <translation>{share} der Zahlen, {rounds} Runden</translation>
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
   <source>{size} become free, and this computer trains no more. What you gave is kept.</source>
   <translation>{size} werden frei, und dieser Rechner trainiert nicht mehr. Sein Beitrag bleibt.</translation>
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
   <source>{some} and {last}</source>
   <translation>{some} und {last}</translation>
  </message>
  <message>
   <source>{stage} ({percent} %)</source>
   <translation>{stage} ({percent} %)</translation>
  </message>
  <message>
   <source>{stalled} Training goes on with what is here.</source>
   <translation>{stalled} Das Training geht mit dem weiter, was hier ist.</translation>
  </message>
  <message>
   <source>{step}; at this pace it is done at {moment}</source>
   <translation>{step}; bei diesem Tempo fertig um {moment}</translation>
  </message>
  <message>
   <source>{step}; at this pace it is done on {day}</source>
   <translation>{step}; bei diesem Tempo fertig am {day}</translation>
  </message>
  <message>
   <source>{text} could mean bits or bytes.</source>
   <translation>{text} könnte Bit oder Byte meinen.</translation>
  </message>
  <message>
   <source>{text} could mean two amounts, a thousand times apart.</source>
   <translation>{text} könnte zwei Mengen meinen, die das Tausendfache auseinanderliegen.</translation>
  </message>
  <message>
   <source>{text} has no unit of an amount.</source>
   <translation>{text} hat keine Einheit einer Menge.</translation>
  </message>
  <message>
   <source>{text} has no unit of speed.</source>
   <translation>{text} hat keine Einheit einer Geschwindigkeit.</translation>
  </message>
  <message>
   <source>{text} is neither yes nor no.</source>
   <translation>{text} ist weder ja (yes) noch nein (no).</translation>
  </message>
  <message>
   <source>{text} is not a valid amount.</source>
   <translation>{text} ist keine gültige Menge.</translation>
  </message>
  <message>
   <source>{text} is not a whole number from 0 on.</source>
   <translation>{text} ist keine ganze Zahl ab 0.</translation>
  </message>
  <message>
   <source>{text} is not a whole number of gigabytes.</source>
   <translation>{text} ist keine ganze Zahl von Gigabyte.</translation>
  </message>
  <message>
   <source>{text} is not an address that others could call.</source>
   <translation>{text} ist keine Adresse, die andere rufen könnten.</translation>
  </message>
  <message>
   <source>{threads} of {cores} processor threads, at low priority{cards}</source>
   <translation>{threads} von {cores} Strängen des Prozessors, mit geringem Vorrang{cards}</translation>
  </message>
  <message>
   <source>{time} is not a valid length of time.</source>
   <translation>{time} ist keine gültige Zeitdauer.</translation>
  </message>
  <message>
   <source>{title} ({device}) {refusal}</source>
   <translation>{title} ({device}) {refusal}</translation>
  </message>
  <message>
   <source>{title}: {first} at step {first_epoch}, {last} at step {last_epoch}.</source>
   <translation>{title}: {first} bei Schritt {first_epoch}, {last} bei Schritt {last_epoch}.</translation>
  </message>
  <message>
   <source>{until} is not a valid time of day.</source>
   <translation>{until} ist keine gültige Uhrzeit.</translation>
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
   <source>{what} cannot be switched.</source>
   <translation>{what} lässt sich nicht schalten.</translation>
  </message>
  <message>
   <source>{what} is not UTF-8: {shown}.</source>
   <translation>{what} ist kein UTF-8: {shown}.</translation>
  </message>
  <message>
   <source>{what}, {share} %</source>
   <translation>{what}, {share} %</translation>
  </message>
  <message>
   <source>{where}a model with experts cannot be trained with {name}.</source>
   <translation>{where}ein Modell mit Experten lässt sich mit {name} nicht trainieren.</translation>
  </message>
  <message>
   <source>{where}address is missing.</source>
   <translation>{where}address fehlt.</translation>
  </message>
  <message>
   <source>{where}aspect_columns must name two columns, such as width,height.</source>
   <translation>{where}aspect_columns muss zwei Spalten nennen, etwa width,height.</translation>
  </message>
  <message>
   <source>{where}language must be one of {scripts}, not {language}.</source>
   <translation>{where}language muss eines von {scripts} sein, nicht {language}.</translation>
  </message>
  <message>
   <source>{where}name must be one of {kinds}, not {name}.</source>
   <translation>{where}name muss eines von {kinds} sein, nicht {name}.</translation>
  </message>
  <message>
   <source>{where}the task {task} has no layers of experts.</source>
   <translation>{where}die Aufgabe {task} hat keine Schichten von Experten.</translation>
  </message>
  <message>
   <source>{where}the task {task} needs a table [experts].</source>
   <translation>{where}die Aufgabe {task} braucht eine Tabelle [experts].</translation>
  </message>
  <message>
   <source>{where}{error}</source>
   <translation>{where}{error}</translation>
  </message>
  <message>
   <source>{where}{name} is missing.</source>
   <translation>{where}{name} fehlt.</translation>
  </message>
  <message>
   <source>{where}{name} is unknown.</source>
   <translation>{where}{name} ist unbekannt.</translation>
  </message>
  <message>
   <source>{where}{name} must be a number, not {value}.</source>
   <translation>{where}{name} muss eine Zahl sein, nicht {value}.</translation>
  </message>
  <message>
   <source>{where}{name} must be a whole number from 0 to {most}, not {number}.</source>
   <translation>{where}{name} muss eine ganze Zahl von 0 bis {most} sein, nicht {number}.</translation>
  </message>
  <message>
   <source>{where}{name} must be {allowed}, not {value}.</source>
   <translation>{where}{name} muss sein: {allowed}, nicht {value}.</translation>
  </message>
  <message>
   <source>{where}{problem}</source>
   <translation>{where}{problem}</translation>
  </message>
  <message>
   <source>{where}{why}</source>
   <translation>{where}{why}</translation>
  </message>
  <message>
   <source>{whose} does not answer and this computer's pass has ended: it trains alone, and its work may not be kept.</source>
   <translation>{whose} antwortet nicht, und der Ausweis dieses Rechners ist abgelaufen: Er trainiert allein, und seine Arbeit geht vielleicht verloren.</translation>
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
   <source>{who} has {count} computers.</source>
   <translation>{who} hat {count} Rechner.</translation>
  </message>
  <message>
   <source>{who} is not a moderator.</source>
   <translation>{who} ist nicht in der Moderation.</translation>
  </message>
  <message>
   <source>{why} It is asked again.</source>
   <translation>{why} Es wird noch einmal gefragt.</translation>
  </message>
  <message>
   <source>{why} The file was kept as {name}.</source>
   <translation>{why} Die Datei wurde als {name} aufgehoben.</translation>
  </message>
  <message>
   <source>{with} UPnP or NAT-PMP in the router, or with TCP and UDP of port {port} forwarded to this computer.</source>
   <translation>{with} UPnP oder NAT-PMP im Router, oder mit TCP und UDP von Port {port}, die an diesen Rechner weitergeleitet werden.</translation>
  </message>
  <message>
   <source>{words} is not a date.</source>
   <translation>{words} ist kein Datum.</translation>
  </message>
  <message>
   <source>{words} is not a key.</source>
   <translation>{words} ist kein Schlüssel.</translation>
  </message>
  <message>
   <source>{words} is not a link of another collaboration.</source>
   <translation>{words} ist kein Link eines anderen Projekts.</translation>
  </message>
  <message>
   <source>{words} is not for another computer.</source>
   <translation>{words} ist nicht für einen anderen Rechner.</translation>
  </message>
  <message>
   <source>{words} is not the address of a backbone.</source>
   <translation>{words} ist nicht die Adresse eines Stützpunkts.</translation>
  </message>
  <message>
   <source>{words} is not the number of a copy.</source>
   <translation>{words} ist nicht die Nummer einer Kopie.</translation>
  </message>
  <message>
   <source>{words}.</source>
   <translation>{words}.</translation>
  </message>
  <message>
   <source>{word} comes after the times.</source>
   <translation>{word} steht hinter den Zeiten.</translation>
  </message>
  <message>
   <source>{word} does not say from when to when.</source>
   <translation>{word} sagt nicht, von wann bis wann.</translation>
  </message>
  <message>
   <source>{word} is neither a day nor times of a day.</source>
   <translation>{word} ist weder ein Tag noch Zeiten eines Tages.</translation>
  </message>
 </context>
</TS>
