<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
 <context>
  <name>potluck</name>
  <message>
   <source>  What became of it</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source> while training goes on</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;1 hour</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;4 hours</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Activity</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Always</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Another link</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Ask</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Ask the model</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Back</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Cancel</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Close the window</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Close window</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Colours</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Contribute</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Contribute on without it</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Dark</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Dismiss</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Download</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Help</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Home</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Hours</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Join</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Join a collaboration…</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Join with a link…</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Light</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Look at it</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Model</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Next</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Nights and weekends</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Notifications of the desktop</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Open Potluck</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Pause</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;People</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Port</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Potluck</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Quit</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Quit Potluck</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Save</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Settings…</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Start</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Start Potluck</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Test the port</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Try again</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Upload</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;View</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>&amp;Whenever this computer is on, at low priority</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>, {done} of {total} pieces are here</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>1 volunteer here</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>; {name} alone {right}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>A day goes from 00:00 to 24:00.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>A device is named twice.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>A limit is a number of bytes a month.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>A limit is a number of bytes a second.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>A link looks like potluck://host:port/0123…#invitation; copy the whole of it from the organiser.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>A router's own rule, if you make one, should lead TCP and UDP of this port here; none is needed.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>About and &amp;trust</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>About and trust</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>About {known}: an estimate.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>About {kwh} kWh</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>About {needed}; {have}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Account</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Activity</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Add `potluck engine` to what your system starts at login.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>All others are on this computer, so no port has to be open.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>All who take part see this name and what this computer gave; a made-up name is fine.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Always on</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Another Potluck just made this computer's key.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Any</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Arrow keys move, Shift and arrow keys mark, Space opens or closes what is marked.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Ask on a computer that trains.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Ask the organiser for a new link.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Ask the organiser for the link of another collaboration.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Ask the organiser for the link.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Ask the organiser to update the backbone.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Asking the engine…</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Asking the organiser's computer…</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Averaged {numbers} numbers for everybody in {rounds} rounds.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Averaging</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Averaging {company}{meanwhile}: everyone's work becomes epoch {epoch} of the model.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Beginning to contribute again…</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Blank {number}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>By day</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>By round</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>C&amp;ancel</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Carry connections for &amp;others</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Catching up</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Catching up with the others, who are ahead{pieces}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Change its permissions, or set POTLUCK_HOME.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Change the limits…</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Check that the file belongs to you.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Check that the folder belongs to you and is not read-only.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Check the disk.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Check the link and your connection, and try again later.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Check the network connection, and whether a firewall blocks this program.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Check this comp&amp;uter</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Check this computer, and say what to do.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Checking…</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Choose another name.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Choose another port.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Choose auto, all, or one or more of cpu, cuda, cuda:1, mps and xpu with commas between them; potluck doctor says which there are.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Choose no limit instead.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Choose one of 1 to 40 letters, digits and spaces.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Choose one with letters of one.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Click to open or close all of this day</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Click to open or close this hour on all days</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Close that program, or choose another port; 0 lets the system choose.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Close the window, or quit Potluck?</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Collaboration</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Compare a fingerprint with the one that its owner shows you: it cannot be imitated.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Compare it with another.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Compare the fingerprint with the one that the organiser shows you.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Computed on: {device}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Computes on</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Connect it to train with others; potluck demo needs no network.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Connect to it</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Contribute</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Contribute &amp;now for 1 hour</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Contribute (Space)</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Contribute now for 1 hour</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Contributing</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Day</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Did not arrive in time</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Digest of its numbers</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Disk</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Do you want to take part?</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Doing</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Download</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Each round leaves a receipt.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Epoch {epoch}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Epoch {epoch}, signed by {signed} of {members}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Errors on text that it has never seen</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Errors on text that it learns from</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Everybody brings a little computing; together it trains one model. Potluck is free software under the Apache License 2.0, without any warranty.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Everything</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Fingerprint</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Fingerprint of its key</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Fingerprint of that key</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Finished</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Finished: epoch {epoch} was the last that was asked for.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Finished: that was the last step that was asked for.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Finished: the model has reached the end of its schedule. Nothing is computed.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Finished: with epoch {epoch} the collaboration has reached the end of its schedule. Nothing is computed.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>For a whole day write 00:00-24:00.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Friday</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>GB</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Getting everything ready…</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Getting started</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Held-out loss</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Held-out loss at epoch {epoch}: {loss}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Helped to average</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Helper</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Helping</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Helping: this computer averages what the others have trained, and trains nothing itself.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Helps to average: this line is too slow for its own gradients.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Hours</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Hours of the week</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>How others can reach this computer is not known yet.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>How others reach it</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>How the others see &amp;you</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>In &amp;words</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>In a &amp;month</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>In all</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>In order</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>In the model</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Is everything here that Potluck needs?</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>It arrived too late or not at all: the round went on without it. The connection may be slow.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>It became part of the model, but nobody else has signed that, which proves nothing to others.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>It begins with the first step.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>It does not cost by the megabyte.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>It fills with the first step of the model.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>It fills {right} {guesses} right, in text that it has never seen.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>It is made with other free software: {libraries}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>It is started again.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>It is started again; the log says more.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>It takes volunteers outside of this network to find out.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>It works well as it is. With UPnP in the router, connections would start a little faster.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Its icon beside the clock brings the window back.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Its learning rate may be too high.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Join a collaboration</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Join again with the organiser's link.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Joining</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Joining the collaboration.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Joining…</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Known after the start only: {unknown}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Known after the start; nothing has to be set up for that.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>L&amp;anguage</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Large models need more; POTLUCK_HOME can name a folder on another disk.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Leaderboard</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Leave at least one hour, or pause Potluck with its switch.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Let Potluck train until an epoch has ended, then try again.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Like the &amp;system</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Link</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Look at the &amp;held-out text now</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Look into this computer, run programs on it, or have it do more than you allow: your hours and limits are kept by this program alone.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Looking for the others and for the newest state of the model.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Looks at network, clock, disk, devices and more. It takes some seconds.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Mbit/s</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Memory</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Model</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Monday</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>My &amp;computer</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>My &amp;gift</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>My computer</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>My gift</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Name</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Name each device once.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Name it as the system's list of running programs does, without a folder: blender, steam.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Net&amp;work</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Network</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>No collaboration is left: nothing computes for others here until you join one.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>No connection is that fast.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>No contribution in the last {days} days yet.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>No day and no time is named.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>No free port was found.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>No limit</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>No link?</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>No port for peers is chosen yet; the first start draws one and keeps it.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>No router is in the way, so a firewall is: allow Potluck in the firewall of this computer.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>No training process runs.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Nobody can be asked here whether to join.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Nobody has looked at what it can do yet.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Nobody uses that much in a month.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Nobody yet.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>None is needed: the link lets you in.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Not connected</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Not connected: this is what was known at {moment}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Not known before the start; {have}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Not yet: start pa&amp;used</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Note</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Nothing became part of the model yet today.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Nothing has changed.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Nothing has to be done: the key is then kept in a file that only you can read.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Nothing of this kind.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Nothing was given yet.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Nothing was lost. Free some space; if Potluck has ended, start it again.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Numbers that say how the model should change, never text or files of yours. With them go your name here, a key that stands for this computer, its address in the network, how fast it computes, and what it is doing. Every connection is encrypted, and both sides prove who they are.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>On macOS links open Potluck once its application lies in the folder Applications.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>On this computer</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Only in these &amp;hours:</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Only while &amp;nobody uses it</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Organised by</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Other programs take more than {percent} % of the graphics card. Potluck continues when they need less.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Other programs take more than {percent} % of the processor. Potluck continues when they need less.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Other volunteers can reach this computer directly.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Others are asked to call this computer. This takes some seconds…</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Otherwise Potluck rests while the system calls the connection metered.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Pages</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Passed on {size} for computers that cannot be called.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Paste the link that the organiser gave you, or click it where it was sent to you.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Pause &amp;for</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Pause (Space)</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Paused</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Paused by you: nothing is computed until you switch contributing on again.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Paused by you: nothing is computed. Potluck continues {moment}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>People</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>People whom the organiser has let in: each computer has a pass that the organiser's key has signed and that ends by itself. All members check each other's passes, what each of them gave is signed by the others, and a computer whose pass is withdrawn is refused by everybody within a minute.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck can work here: {all} checks, no problem.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck ended unexpectedly: nothing is computed.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck ended unexpectedly: nothing is computed. It is started again in {seconds} s.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck ends.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck goes on</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck is not running here. This window waits for it to start.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck is not running: nothing is computed.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck is starting.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck may work</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck may work for a part of it</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck rests</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck rests while a program fills the screen.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck rests while {program} runs, as you chose.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck starts.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck was killed the last time, or the computer lost power.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck works in the hours that are filled, and rests in the others. Draw over them to change, or use the arrow keys and Space.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck {version}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Potluck's files</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Prepare the model and the text</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Preparing the text ended without a result.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Problem</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Problem: {message}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Processor</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Putting everyone's work into the model, {company}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Quit in its menu ends everything.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Rank</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Reading text and preparing what is to be learned.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Resting</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Resume contributing, then try again.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Role</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Rounds</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Samples</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Samples/s</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Saturday</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Say yes or no.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Settings</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Share</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Signatures do not fit</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Signed by nobody else</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Something went wrong inside Potluck.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Space opens or closes the hour.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Start &amp;Potluck, hidden, when I log in</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Start Potluck again; the log embedded.log says why.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Start again.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Start again; the log says more.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Start the engine</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Starting</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Starting the engine: the part of Potluck that trains and talks to the others.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Status: {words}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Sunday</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>System</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Taking part</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Tell the organiser.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Text for the model</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The Potluck that runs in the background is of another version. Stop it with: potluck quit</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The backbone did not start.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The backbone gave the pass of another computer.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The backbone has lost its port to another program.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The backbone lets nobody in at present.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The backbone offers another collaboration than the link names.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The battery holds less than {percent} %. Potluck continues when it is plugged in.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The check could not be run. On the command line it is: potluck doctor</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The clock is kept right by the system.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The clock shows a possible time; joining compares it with the collaboration's.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The collaboration</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The collaboration and this computer</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The collaboration uses a newer version of Potluck.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The collaboration uses an older version of Potluck.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The engine cannot be reached right now.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The engine could not be started: {why}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The engine has not joined a collaboration yet.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The engine is starting; this window connects to it in a moment.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The file with this computer's key is damaged.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The graphics card rests while this computer is in use. Potluck continues when nobody has touched it for {minutes} min.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The graphics card took more than {watts} W. Potluck continues in a minute or two.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The graphics card was hotter than {celsius} °C. Potluck continues when it has cooled down.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The last 14 days</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The link could not be looked at.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The log says more.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The loss curve is empty: it begins with the first epoch.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The mean of a round could not be read, or nobody had asked for it.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The message is not JSON.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The model</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The model gave no answer.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The model gives numbers that are not finite.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The model's loss is not a finite number.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The model, as numbers, and files that the collaboration names by their digest, such as a vocabulary. Never programs: new code comes with a new version of Potluck only, which you install yourself.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The month's limit for the network is used up. Potluck continues with the next month.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The newest model on this computer is asked: this takes some seconds…</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The organiser does not say.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The organiser has shut this computer out of the collaboration.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The organiser's computer does not say.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The others have signed that it became part of the model.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The pot is cold</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The pot is full: everyone's samples become the next step of the model.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The process with the model ended without an answer.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The processor took more than {watts} W. Potluck continues in a minute or two.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The processor was hotter than {celsius} °C. Potluck continues when it has cooled down.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The receipt is not what its members signed: somebody or the disk has changed it.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The request did not arrive in time.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The router lets nobody in, and no relay has been found yet.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The router lets nobody in. Other volunteers reach this computer through a relay.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The router says that it forwards the port, so another one stands before it, or a firewall on this computer keeps others out. Allow Potluck in the firewall; of another router it is no harm.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The server at the backbone's address cannot prove that it is this collaboration's backbone.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The server at the link's address cannot prove that it is this collaboration's backbone.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The settings are saved.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The system does not keep its clock right by itself.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The system does not let Potluck keep this computer awake.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The system does not say whether it costs.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The system does not say whether its clock is kept right.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The system says that it costs by the megabyte: Potluck leaves it alone.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The system's keyring answers.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The system's keyring is switched off by POTLUCK_KEYRING.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The training process did not answer any more.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The training process does not answer.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The training process stopped.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The training process was started twice.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The training program is starting.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The window can open.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The window is minimised then: this desktop has no place for icons.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The window is not installed.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>The window speaks it from its next start on: quit Potluck and open it again.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>There is no connection to other volunteers.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>There is no connection to other volunteers: this computer trains alone, and its work may not be kept.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This can only be on or off.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This collaboration</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer averaged or passed on what others had computed, and had no samples of its own.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer cannot be kept awake: neither systemd-inhibit nor caffeinate is installed.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer has joined no collaboration.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer helps with averaging and holds no model.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer is behind a router. Other volunteers reach it directly after a short introduction.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer is in no network now.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer is in no network.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer is in use. Potluck continues when nobody has touched it for {minutes} min.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer runs on its battery. Potluck continues when it is plugged in.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer's clock agrees with the collaboration's time again.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer's clock is wrong by years.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer's clock went back: its files are from the future.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer's key is damaged.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer's key is in the system's keyring, and the keyring does not open.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer's key is no longer in the system's keyring.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This computer's memory does not suffice to train this model.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This connection costs money by the megabyte. Potluck continues with another one.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This description of hours is too long.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This function returns the ___ of a file.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This invitation has been used as often as it may be.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This invitation has expired.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This invitation is not valid; the organiser may have withdrawn it.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This is no device that can train.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This is no list of programs.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This is no name that the others could read.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This is no place of a switch.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This is no time that can be waited for.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This is not a Potluck link.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This is outside the hours that you chose. Potluck continues {moment} at the earliest.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This link does not say which collaboration it leads to.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This link has no invitation.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This request cannot be read.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This system has no systemd, which would start the engine.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>This version of Potluck cannot read the collaboration.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Threads that train</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Three volunteers on this computer train a small model together, at low priority. Nothing leaves this computer; you can join others at any time.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Through a router; nothing has to be set up for that. The window says more after the start.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Thursday</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Time</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>To join without a question, add --yes.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Too many computers at this address have asked to join.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Too many requests are under way.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Too many windows and commands are connected to the engine. Close one of them.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Traffic</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Train a model together</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Training</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Training cannot keep to that much memory.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Training ended at its start again and again; it is tried with the processor alone.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Training goes on from the last saved state.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Training goes on from the last saved state; if it happens again, the learning rate is too high.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Training goes on from the last state that is whole.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Training loss</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Training runs on the processor; torch finds no other device here.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Training {company}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Training {company}: all {target} samples for epoch {epoch} are gathered.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Training {company}: {samples} of {target} samples for epoch {epoch}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Trains on</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Try again in a moment.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Try again when more volunteers are here.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Try it</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Try it alone &amp;first</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Tuesday</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Turn on UPnP or NAT-PMP in the router, or forward the port that `potluck doctor` names to this computer. Until then it trains as usual, but does not average for others.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Turn on automatic date and time in the system's settings; other computers refuse messages of a wrong time.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Unlock the keyring (and unset POTLUCK_KEYRING), then start Potluck again.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Until &amp;tomorrow</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Up to {size} each way in an epoch. {cost}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Update Potluck, then open the link again.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Update Potluck.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Use connections that &amp;cost money by the megabyte</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Volunteer</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Volunteers that nobody can call reach others through this computer, within small limits.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Wait for half a minute.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Wait for their answers.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Waiting</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Warming up the pot</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Warnings</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Wednesday</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Welcome to Potluck</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>What comes to this computer</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>What for</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>What happened</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>What it can do now</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>What leaves this computer</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>What the model says</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>What the organiser cannot do</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>When</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>When it computes</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>When it ran</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>When the window c&amp;loses</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Which of it</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Who is here</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Who lets people in</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Who may take part</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>With no hour left, Potluck would never work.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Without its window Potluck goes on contributing. {place} When you quit, nothing is computed any more.

Your answer is remembered. You can change it in the menu Potluck, When the window closes.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Words for blank {number}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Write a sentence first, with ___ for a word that is missing.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Write a sentence, with ___ for a word that is missing</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>You and this computer</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>You are not on the leaderboard yet: it counts what has become part of the model.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>You are number {rank} of {all}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>You switched the graphics card off for Potluck, and training runs on it.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>You switched the graphics card off for Potluck, and training runs on it. Potluck continues {moment}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>You switched the network off for Potluck: nobody would get what is trained, so nothing is.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>You switched the network off for Potluck: nobody would get what is trained, so nothing is. Potluck continues {moment}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>You take part in {name}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Your gift today</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>Your name</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>alone for now</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>as the system calls this computer</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>at {clock}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>averaged {numbers} numbers for everybody in {rounds} rounds</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>blanks</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>day</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>letter frequencies</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>letters</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>loss{unit} by epoch; lower is better</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>message</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>nats</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>nobody here yet</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>on {day} at {clock}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>passed on {size} for computers that cannot be called</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>potluck</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>power</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>sent {sent}, received {received}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>share</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>the letter before</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>the others</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>the word before</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>this computer</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>today</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>together with one other</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>together with {others} others</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>traffic a day</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>what is received</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>what is sent</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>where others call this computer</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>with other hours</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>word frequencies</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{all} samples a second together, {mine} of them on this computer</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{days} days in a row</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{day} {month} {clock}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{day}, {start} to {end}: {state}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{duration} on {active} of {days} days</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{kilos} kg of carbon dioxide</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{money} in your money</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{name} (you)</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{name} alone: {loss}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{name} is {samples} behind.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{name} {day} {month}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{name}, organised by {organiser}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{name}, peer {peer}, {epochs} epochs</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{name}, {role}, peer {peer}, at epoch {epoch}, {samples} samples in this one</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{number} M</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{number} always on</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{number} computers now</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{number} of 100</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{number} of {all} checks found something that has to be mended.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{number} volunteers here</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{right} {guesses} right at epoch {epoch}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{said}. That is too little.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{samples} more are computed and wait for the next round.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{samples} of {target} samples for the model's next step, {mine} from this computer</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{samples} samples became part of the model.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{samples} samples in {epochs} rounds, in {duration} of contributing</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{samples} samples more to reach {name}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{sent} sent, {received} received.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{share} of this collaboration</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{size} a day</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{size} are free</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{size} in this computer</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{size} of files, then the model from other volunteers; numbers only, no programs</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{stage}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{threads} of {cores} processor threads, at low priority{cards}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{title}: {first} at epoch {first_epoch}, {last} at epoch {last_epoch}.</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{used} of {all}</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{used} used by Potluck; {free} free</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{used} used by Potluck; {free} of {all} free</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{used} used so far</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{watts} W while it computes</source>
   <translation type="unfinished"></translation>
  </message>
  <message>
   <source>{why}</source>
   <translation type="unfinished"></translation>
  </message>
 </context>
</TS>
