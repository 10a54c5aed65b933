<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="bn" sourcelanguage="en">
 <context>
  <name>potluck</name>
  <message>
   <source>  Outcome</source>
   <translation>  ফল</translation>
  </message>
  <message>
   <source> About {kwh} kWh.</source>
   <translation> প্রায় {kwh} kWh।</translation>
  </message>
  <message>
   <source> while training goes on</source>
   <translation> প্রশিক্ষণ চলতে চলতেই</translation>
  </message>
  <message>
   <source>&amp;1 hour</source>
   <translation>1 ঘণ্টা (&amp;1)</translation>
  </message>
  <message>
   <source>&amp;4 hours</source>
   <translation>4 ঘণ্টা (&amp;4)</translation>
  </message>
  <message>
   <source>&amp;Activity</source>
   <translation>কার্যকলাপ (&amp;A)</translation>
  </message>
  <message>
   <source>&amp;Add one that runs…</source>
   <translation>যেটি চলছে সেটি যোগ করুন (&amp;A)…</translation>
  </message>
  <message>
   <source>&amp;All at once, each at its own pace</source>
   <translation>সব একসঙ্গে, প্রতিটি নিজের গতিতে (&amp;A)</translation>
  </message>
  <message>
   <source>&amp;Always</source>
   <translation>সবসময় (&amp;A)</translation>
  </message>
  <message>
   <source>&amp;Another collaboration…</source>
   <translation>আরেকটি প্রকল্প (&amp;A)…</translation>
  </message>
  <message>
   <source>&amp;Another link</source>
   <translation>আরেকটি লিংক (&amp;A)</translation>
  </message>
  <message>
   <source>&amp;Anybody: I make the link public</source>
   <translation>যে কেউ: লিংকটি আমি সবার জন্য খুলে দিচ্ছি (&amp;A)</translation>
  </message>
  <message>
   <source>&amp;Ask</source>
   <translation>জিজ্ঞাসা করুন (&amp;A)</translation>
  </message>
  <message>
   <source>&amp;Ask the model</source>
   <translation>মডেলকে জিজ্ঞাসা করুন (&amp;A)</translation>
  </message>
  <message>
   <source>&amp;Back</source>
   <translation>পিছনে (&amp;B)</translation>
  </message>
  <message>
   <source>&amp;Cancel</source>
   <translation>বাতিল (&amp;C)</translation>
  </message>
  <message>
   <source>&amp;Close</source>
   <translation>বন্ধ করুন (&amp;C)</translation>
  </message>
  <message>
   <source>&amp;Close the window</source>
   <translation>জানালা বন্ধ করুন (&amp;C)</translation>
  </message>
  <message>
   <source>&amp;Compile the model first</source>
   <translation>আগে মডেলটি কম্পাইল করুন (&amp;C)</translation>
  </message>
  <message>
   <source>&amp;Contribute</source>
   <translation>অবদান রাখুন (&amp;C)</translation>
  </message>
  <message>
   <source>&amp;Contribute on without it</source>
   <translation>এটি ছাড়াই অবদান রাখুন (&amp;C)</translation>
  </message>
  <message>
   <source>&amp;Copied</source>
   <translation>কপি হয়েছে (&amp;C)</translation>
  </message>
  <message>
   <source>&amp;Copy</source>
   <translation>কপি করুন (&amp;C)</translation>
  </message>
  <message>
   <source>&amp;Copy the text</source>
   <translation>লেখাটি কপি করুন (&amp;C)</translation>
  </message>
  <message>
   <source>&amp;Dark</source>
   <translation>গাঢ় (&amp;D)</translation>
  </message>
  <message>
   <source>&amp;Dismiss</source>
   <translation>সরিয়ে দিন (&amp;D)</translation>
  </message>
  <message>
   <source>&amp;Do not let this computer fall asleep while it contributes</source>
   <translation>অবদান রাখার সময় এই কম্পিউটারকে ঘুমাতে দেবেন না (&amp;D)</translation>
  </message>
  <message>
   <source>&amp;Done</source>
   <translation>হয়ে গেছে (&amp;D)</translation>
  </message>
  <message>
   <source>&amp;Download</source>
   <translation>ডাউনলোড (&amp;D)</translation>
  </message>
  <message>
   <source>&amp;End it</source>
   <translation>শেষ করুন (&amp;E)</translation>
  </message>
  <message>
   <source>&amp;Fill in missing words</source>
   <translation>বাদ পড়া শব্দ পূরণ (&amp;F)</translation>
  </message>
  <message>
   <source>&amp;Friends, to whom I send the link</source>
   <translation>বন্ধুরা, যাদের আমি লিংকটি পাঠাব (&amp;F)</translation>
  </message>
  <message>
   <source>&amp;Get it</source>
   <translation>এটি আনুন (&amp;G)</translation>
  </message>
  <message>
   <source>&amp;Get it again</source>
   <translation>আবার আনুন (&amp;G)</translation>
  </message>
  <message>
   <source>&amp;Get {version}</source>
   <translation>{version} আনুন (&amp;G)</translation>
  </message>
  <message>
   <source>&amp;Go on</source>
   <translation>এগিয়ে চলুন (&amp;G)</translation>
  </message>
  <message>
   <source>&amp;Graphics card</source>
   <translation>গ্রাফিক্স কার্ড (&amp;G)</translation>
  </message>
  <message>
   <source>&amp;Help</source>
   <translation>সহায়তা (&amp;H)</translation>
  </message>
  <message>
   <source>&amp;High contrast</source>
   <translation>উচ্চ কনট্রাস্ট (&amp;H)</translation>
  </message>
  <message>
   <source>&amp;Home</source>
   <translation>শুরুর পাতা (&amp;H)</translation>
  </message>
  <message>
   <source>&amp;Hours</source>
   <translation>সময় (&amp;H)</translation>
  </message>
  <message>
   <source>&amp;Invite somebody…</source>
   <translation>কাউকে আমন্ত্রণ জানান (&amp;I)…</translation>
  </message>
  <message>
   <source>&amp;Join</source>
   <translation>যোগ দিন (&amp;J)</translation>
  </message>
  <message>
   <source>&amp;Join a collaboration…</source>
   <translation>একটি প্রকল্পে যোগ দিন (&amp;J)…</translation>
  </message>
  <message>
   <source>&amp;Join another…</source>
   <translation>আরেকটিতে যোগ দিন (&amp;J)…</translation>
  </message>
  <message>
   <source>&amp;Join with a link…</source>
   <translation>লিংক দিয়ে যোগ দিন (&amp;J)…</translation>
  </message>
  <message>
   <source>&amp;Leave…</source>
   <translation>ছেড়ে যান (&amp;L)…</translation>
  </message>
  <message>
   <source>&amp;Light</source>
   <translation>হালকা (&amp;L)</translation>
  </message>
  <message>
   <source>&amp;Look again</source>
   <translation>আবার দেখুন (&amp;L)</translation>
  </message>
  <message>
   <source>&amp;Look at it</source>
   <translation>এটি দেখুন (&amp;L)</translation>
  </message>
  <message>
   <source>&amp;Look now</source>
   <translation>এখনই দেখুন (&amp;L)</translation>
  </message>
  <message>
   <source>&amp;Make the link</source>
   <translation>লিংক বানান (&amp;M)</translation>
  </message>
  <message>
   <source>&amp;Memory</source>
   <translation>মেমরি (&amp;M)</translation>
  </message>
  <message>
   <source>&amp;Model</source>
   <translation>মডেল (&amp;M)</translation>
  </message>
  <message>
   <source>&amp;Newer versions…</source>
   <translation>নতুনতর সংস্করণ (&amp;N)…</translation>
  </message>
  <message>
   <source>&amp;Next</source>
   <translation>পরে (&amp;N)</translation>
  </message>
  <message>
   <source>&amp;Nights and weekends</source>
   <translation>রাতে ও ছুটির দিনে (&amp;N)</translation>
  </message>
  <message>
   <source>&amp;Not now</source>
   <translation>এখন নয় (&amp;N)</translation>
  </message>
  <message>
   <source>&amp;Open Potluck</source>
   <translation>Potluck খুলুন (&amp;O)</translation>
  </message>
  <message>
   <source>&amp;Open the list</source>
   <translation>তালিকা খুলুন (&amp;O)</translation>
  </message>
  <message>
   <source>&amp;Paste</source>
   <translation>পেস্ট করুন (&amp;P)</translation>
  </message>
  <message>
   <source>&amp;Pause</source>
   <translation>থামান (&amp;P)</translation>
  </message>
  <message>
   <source>&amp;Pause it</source>
   <translation>এটি থামান (&amp;P)</translation>
  </message>
  <message>
   <source>&amp;People</source>
   <translation>মানুষজন (&amp;P)</translation>
  </message>
  <message>
   <source>&amp;Port</source>
   <translation>পোর্ট (&amp;P)</translation>
  </message>
  <message>
   <source>&amp;Potluck</source>
   <translation>Potluck (&amp;P)</translation>
  </message>
  <message>
   <source>&amp;Power</source>
   <translation>শক্তি (&amp;P)</translation>
  </message>
  <message>
   <source>&amp;Quiet</source>
   <translation>শান্ত (&amp;Q)</translation>
  </message>
  <message>
   <source>&amp;Quit</source>
   <translation>বেরিয়ে যান (&amp;Q)</translation>
  </message>
  <message>
   <source>&amp;Quit Potluck</source>
   <translation>Potluck থেকে বেরিয়ে যান (&amp;Q)</translation>
  </message>
  <message>
   <source>&amp;Remove Potluck…</source>
   <translation>Potluck সরান (&amp;R)…</translation>
  </message>
  <message>
   <source>&amp;Remove it</source>
   <translation>এটি সরান (&amp;R)</translation>
  </message>
  <message>
   <source>&amp;Remove it…</source>
   <translation>এটি সরান (&amp;R)…</translation>
  </message>
  <message>
   <source>&amp;Restart with {version}</source>
   <translation>{version} দিয়ে আবার চালু করুন (&amp;R)</translation>
  </message>
  <message>
   <source>&amp;Save</source>
   <translation>সংরক্ষণ (&amp;S)</translation>
  </message>
  <message>
   <source>&amp;Save the model…</source>
   <translation>মডেল সংরক্ষণ করুন (&amp;S)…</translation>
  </message>
  <message>
   <source>&amp;Settings…</source>
   <translation>সেটিংস (&amp;S)…</translation>
  </message>
  <message>
   <source>&amp;Start</source>
   <translation>শুরু করুন (&amp;S)</translation>
  </message>
  <message>
   <source>&amp;Start Potluck</source>
   <translation>Potluck চালু করুন (&amp;S)</translation>
  </message>
  <message>
   <source>&amp;Start it</source>
   <translation>এটি শুরু করুন (&amp;S)</translation>
  </message>
  <message>
   <source>&amp;Start one…</source>
   <translation>একটি শুরু করুন (&amp;S)…</translation>
  </message>
  <message>
   <source>&amp;Stop</source>
   <translation>থামান (&amp;S)</translation>
  </message>
  <message>
   <source>&amp;Stop it</source>
   <translation>এটি থামান (&amp;S)</translation>
  </message>
  <message>
   <source>&amp;Test the port</source>
   <translation>পোর্ট পরীক্ষা করুন (&amp;T)</translation>
  </message>
  <message>
   <source>&amp;Threads of the processor</source>
   <translation>প্রসেসরের থ্রেড (&amp;T)</translation>
  </message>
  <message>
   <source>&amp;Try again</source>
   <translation>আবার চেষ্টা করুন (&amp;T)</translation>
  </message>
  <message>
   <source>&amp;Try now</source>
   <translation>এখনই চেষ্টা করুন (&amp;T)</translation>
  </message>
  <message>
   <source>&amp;Update Potluck…</source>
   <translation>Potluck হালনাগাদ করুন (&amp;U)…</translation>
  </message>
  <message>
   <source>&amp;Upload</source>
   <translation>আপলোড (&amp;U)</translation>
  </message>
  <message>
   <source>&amp;Use it again</source>
   <translation>আবার ব্যবহার করুন (&amp;U)</translation>
  </message>
  <message>
   <source>&amp;View</source>
   <translation>প্রদর্শন (&amp;V)</translation>
  </message>
  <message>
   <source>&amp;When to run</source>
   <translation>কখন চলবে (&amp;W)</translation>
  </message>
  <message>
   <source>&amp;Whenever this computer is on, at low priority</source>
   <translation>এই কম্পিউটার চালু থাকলেই, কম অগ্রাধিকারে (&amp;W)</translation>
  </message>
  <message>
   <source>&amp;Write letter by letter</source>
   <translation>অক্ষরে অক্ষরে লিখুন (&amp;W)</translation>
  </message>
  <message>
   <source>&amp;Your name</source>
   <translation>আপনার নাম (&amp;Y)</translation>
  </message>
  <message>
   <source>(space)</source>
   <translation>(ফাঁকা)</translation>
  </message>
  <message>
   <source>, {done} of {total} pieces are here</source>
   <translation>, {total}টি টুকরোর {done}টি এসেছে</translation>
  </message>
  <message>
   <source>--filter {words} has no value.</source>
   <translation>--filter {words}-এর কোনো মান নেই।</translation>
  </message>
  <message>
   <source>--go-on takes recipe, text and model from the collaboration.</source>
   <translation>--go-on রেসিপি, লেখা ও মডেল প্রকল্প থেকেই নেয়।</translation>
  </message>
  <message>
   <source>--mirror: {error}</source>
   <translation>--mirror: {error}</translation>
  </message>
  <message>
   <source>--set {words} sets nothing.</source>
   <translation>--set {words} কিছুই ঠিক করে না।</translation>
  </message>
  <message>
   <source>1 000 of the model's steps have your work in them.</source>
   <translation>মডেলের 1 000টি ধাপে আপনার কাজ আছে।</translation>
  </message>
  <message>
   <source>1 000 steps</source>
   <translation>1 000টি ধাপ</translation>
  </message>
  <message>
   <source>1 volunteer here</source>
   <translation>এখানে 1 জন স্বেচ্ছাসেবক</translation>
  </message>
  <message>
   <source>10 of the model's steps have your work in them.</source>
   <translation>মডেলের 10টি ধাপে আপনার কাজ আছে।</translation>
  </message>
  <message>
   <source>10 steps</source>
   <translation>10টি ধাপ</translation>
  </message>
  <message>
   <source>100 of the model's steps have your work in them.</source>
   <translation>মডেলের 100টি ধাপে আপনার কাজ আছে।</translation>
  </message>
  <message>
   <source>100 steps</source>
   <translation>100টি ধাপ</translation>
  </message>
  <message>
   <source>12 million numbers: some hundred megabytes of text, and several computers that run for days.</source>
   <translation>1.2 কোটি সংখ্যা: কয়েকশো মেগাবাইট লেখা, আর কয়েকটি কম্পিউটার যা কয়েক দিন চলে।</translation>
  </message>
  <message>
   <source>30 % of the time, less when it is warm; a card rests while you are there.</source>
   <translation>30 % সময়, গরম হলে আরও কম; আপনি থাকলে কার্ড বিশ্রাম নেয়।</translation>
  </message>
  <message>
   <source>; {name} alone {right}</source>
   <translation>; শুধু {name} {right}</translation>
  </message>
  <message>
   <source>A backbone runs on this charter already.</source>
   <translation>এই সনদে একটি ব্যাকবোন আগেই চলছে।</translation>
  </message>
  <message>
   <source>A backbone stands in the list twice.</source>
   <translation>তালিকায় একটি ব্যাকবোন দুবার আছে।</translation>
  </message>
  <message>
   <source>A backup cannot lie in the folder that it is of.</source>
   <translation>যে ফোল্ডারের ব্যাকআপ, ব্যাকআপ সেই ফোল্ডারেই থাকতে পারে না।</translation>
  </message>
  <message>
   <source>A build for {device} would fit better, and this version does not know it.</source>
   <translation>{device}-এর জন্য তৈরি সংস্করণ বেশি মানানসই হতো, কিন্তু এই সংস্করণ তা চেনে না।</translation>
  </message>
  <message>
   <source>A card knows no priority: what is on the screen may stutter while it computes.</source>
   <translation>কার্ড অগ্রাধিকার বোঝে না: এটি হিসাব করার সময় পর্দার জিনিস আটকে আটকে চলতে পারে।</translation>
  </message>
  <message>
   <source>A copy of the model has {size_bytes} bytes: that is too much of the room that is left.</source>
   <translation>মডেলের একটি কপি {size_bytes} বাইট: বাকি জায়গার তুলনায় তা খুব বেশি।</translation>
  </message>
  <message>
   <source>A damaged checkpoint was set aside as {name}. Training goes on from {where}.</source>
   <translation>নষ্ট একটি চেকপয়েন্ট {name} নামে সরিয়ে রাখা হয়েছে। প্রশিক্ষণ {where} থেকে চলছে।</translation>
  </message>
  <message>
   <source>A day goes from 00:00 to 24:00.</source>
   <translation>একটি দিন 00:00 থেকে 24:00 পর্যন্ত।</translation>
  </message>
  <message>
   <source>A device is named twice.</source>
   <translation>একটি যন্ত্রের নাম দুবার দেওয়া হয়েছে।</translation>
  </message>
  <message>
   <source>A document of another time.</source>
   <translation>অন্য সময়ের একটি নথি।</translation>
  </message>
  <message>
   <source>A fan turned faster than {limit} times a minute. Potluck continues when it has become quieter.</source>
   <translation>একটি পাখা মিনিটে {limit} বারের বেশি ঘুরেছে। শব্দ কমলে Potluck আবার চলবে।</translation>
  </message>
  <message>
   <source>A file is where a folder has to be: name another folder.</source>
   <translation>যেখানে ফোল্ডার থাকার কথা সেখানে একটি ফাইল আছে: অন্য ফোল্ডারের নাম দিন।</translation>
  </message>
  <message>
   <source>A file of the collaboration is not what its manifest names.</source>
   <translation>প্রকল্পের একটি ফাইল তার ম্যানিফেস্টে লেখা ফাইলটি নয়।</translation>
  </message>
  <message>
   <source>A file unfolds to more memory than any text needs.</source>
   <translation>একটি ফাইল খুললে এত মেমরি লাগে যা কোনো লেখার দরকার হয় না।</translation>
  </message>
  <message>
   <source>A folder of &amp;texts:</source>
   <translation>লেখার ফোল্ডার (&amp;T):</translation>
  </message>
  <message>
   <source>A folder that other programs load: weights, words and a page that says what it is.</source>
   <translation>একটি ফোল্ডার যা অন্য প্রোগ্রাম খুলতে পারে: ওজন, শব্দ, আর এটি কী তা বলা একটি পাতা।</translation>
  </message>
  <message>
   <source>A folder with all parts of the model, which live on many computers, and how to load it.</source>
   <translation>মডেলের সব অংশসহ একটি ফোল্ডার, যেগুলি অনেক কম্পিউটারে থাকে, এবং কীভাবে তা লোড করতে হয়।</translation>
  </message>
  <message>
   <source>A helper averages what others have trained.</source>
   <translation>সহায়ক অন্যদের প্রশিক্ষণের গড় করে।</translation>
  </message>
  <message>
   <source>A hold lasts for 7 days at most.</source>
   <translation>স্থগিতাদেশ বড়জোর 7 দিন থাকে।</translation>
  </message>
  <message>
   <source>A limit is a number of bytes a month.</source>
   <translation>সীমা মানে মাসে কত বাইট।</translation>
  </message>
  <message>
   <source>A limit is a number of bytes a second.</source>
   <translation>সীমা মানে সেকেন্ডে কত বাইট।</translation>
  </message>
  <message>
   <source>A link has at most {most} addresses, not {count}.</source>
   <translation>একটি লিংকে বড়জোর {most}টি ঠিকানা থাকে, {count}টি নয়।</translation>
  </message>
  <message>
   <source>A link has at most {most} letters, not {count}.</source>
   <translation>একটি লিংকে বড়জোর {most}টি অক্ষর থাকে, {count}টি নয়।</translation>
  </message>
  <message>
   <source>A link lets others in without a name or a password.</source>
   <translation>লিংক থাকলে নাম বা পাসওয়ার্ড ছাড়াই অন্যরা ঢুকতে পারে।</translation>
  </message>
  <message>
   <source>A link looks like potluck://host:port/0123…#invitation; copy the whole of it from the organiser.</source>
   <translation>লিংক দেখতে potluck://host:port/0123…#invitation এর মতো; আয়োজকের কাছ থেকে পুরোটা কপি করুন।</translation>
  </message>
  <message>
   <source>A list has at most 1 MB.</source>
   <translation>তালিকা বড়জোর 1 MB হতে পারে।</translation>
  </message>
  <message>
   <source>A list of collaborations</source>
   <translation>প্রকল্পের একটি তালিকা</translation>
  </message>
  <message>
   <source>A mean came that nobody had asked for.</source>
   <translation>এমন একটি গড় এসেছে যা কেউ চায়নি।</translation>
  </message>
  <message>
   <source>A mirror cannot lie in the folder of the collaboration.</source>
   <translation>মিরর প্রকল্পের নিজের ফোল্ডারে থাকতে পারে না।</translation>
  </message>
  <message>
   <source>A mixture of experts learns to write, letter by letter, as in the documentation that came with Python.</source>
   <translation>এক্সপার্টের একটি মডেল অক্ষরে অক্ষরে লিখতে শেখে, Python-এর সঙ্গে আসা নথির মতো।</translation>
  </message>
  <message>
   <source>A model for &amp;much text</source>
   <translation>অনেক লেখার জন্য একটি মডেল (&amp;M)</translation>
  </message>
  <message>
   <source>A model with experts cannot be tried: they live on many computers.</source>
   <translation>এক্সপার্টসহ মডেল পরখ করা যায় না: তারা অনেক কম্পিউটারে থাকে।</translation>
  </message>
  <message>
   <source>A moderator cannot be held.</source>
   <translation>মডারেটরকে স্থগিত করা যায় না।</translation>
  </message>
  <message>
   <source>A moderator has said no.</source>
   <translation>একজন মডারেটর না বলেছেন।</translation>
  </message>
  <message>
   <source>A moderator keeps your account out for some days.</source>
   <translation>একজন মডারেটর আপনার অ্যাকাউন্টকে কয়েক দিন বাইরে রেখেছেন।</translation>
  </message>
  <message>
   <source>A moderator stands in the list twice.</source>
   <translation>তালিকায় একজন মডারেটর দুবার আছেন।</translation>
  </message>
  <message>
   <source>A moderator's name cannot be shown.</source>
   <translation>একজন মডারেটরের নাম দেখানো যায় না।</translation>
  </message>
  <message>
   <source>A moment…</source>
   <translation>একটু অপেক্ষা করুন…</translation>
  </message>
  <message>
   <source>A month ago this computer gave its time for the first time.</source>
   <translation>এক মাস আগে এই কম্পিউটার প্রথম সময় দিয়েছিল।</translation>
  </message>
  <message>
   <source>A name of its own</source>
   <translation>নিজের আলাদা নাম</translation>
  </message>
  <message>
   <source>A newer version of Potluck has made the database {place}.</source>
   <translation>{place} ডেটাবেসটি Potluck-এর নতুনতর সংস্করণের তৈরি।</translation>
  </message>
  <message>
   <source>A newer version of Potluck wrote the backup {file}.</source>
   <translation>{file} ব্যাকআপটি Potluck-এর নতুনতর সংস্করণের লেখা।</translation>
  </message>
  <message>
   <source>A newer version was looked for, and nothing was changed: {reason}</source>
   <translation>নতুনতর সংস্করণ খোঁজা হয়েছে, আর কিছু বদলানো হয়নি: {reason}</translation>
  </message>
  <message>
   <source>A number that your home says</source>
   <translation>আপনার বাড়ি থেকে জানানো একটি সংখ্যা</translation>
  </message>
  <message>
   <source>A package names a file outside of its folder: {name}.</source>
   <translation>একটি প্যাকেজ তার ফোল্ডারের বাইরের ফাইলের নাম দেয়: {name}।</translation>
  </message>
  <message>
   <source>A part of Potluck ended with code {code}.</source>
   <translation>Potluck-এর একটি অংশ {code} কোড দিয়ে শেষ হয়েছে।</translation>
  </message>
  <message>
   <source>A part of Potluck ended without an answer.</source>
   <translation>Potluck-এর একটি অংশ উত্তর না দিয়েই শেষ হয়েছে।</translation>
  </message>
  <message>
   <source>A pass has at most {most} bytes, not {count}.</source>
   <translation>একটি পাস বড়জোর {most} বাইট হতে পারে, {count} নয়।</translation>
  </message>
  <message>
   <source>A pass is made with Ed25519 keys.</source>
   <translation>পাস Ed25519 চাবি দিয়ে বানানো হয়।</translation>
  </message>
  <message>
   <source>A plan is made for one value of each key.</source>
   <translation>পরিকল্পনা প্রতিটি চাবির একটিই মানের জন্য বানানো।</translation>
  </message>
  <message>
   <source>A program fills the screen.</source>
   <translation>একটি প্রোগ্রাম পুরো পর্দা জুড়ে আছে।</translation>
  </message>
  <message>
   <source>A program holds some files of the training part open.</source>
   <translation>একটি প্রোগ্রাম প্রশিক্ষণ অংশের কিছু ফাইল খুলে রেখেছে।</translation>
  </message>
  <message>
   <source>A proposal that has ended.</source>
   <translation>যে প্রস্তাব শেষ হয়ে গেছে।</translation>
  </message>
  <message>
   <source>A proposal that its author has not signed.</source>
   <translation>যে প্রস্তাবে তার লেখক সই করেননি।</translation>
  </message>
  <message>
   <source>A router's own rule, if you make one, should lead TCP and UDP of this port here; none is needed.</source>
   <translation>রাউটারে নিজের নিয়ম বানালে তা যেন এই পোর্টের TCP ও UDP এখানে আনে; না বানালেও চলে।</translation>
  </message>
  <message>
   <source>A sample is a picture of a written digit. The model guesses which one it is.</source>
   <translation>নমুনা হলো হাতে লেখা একটি অঙ্কের ছবি। মডেল আন্দাজ করে সেটি কোন অঙ্ক।</translation>
  </message>
  <message>
   <source>A sample is a text of at most {size} words and parts of words. Some of them are covered, and the model guesses what stands there.</source>
   <translation>নমুনা হলো বড়জোর {size}টি শব্দ ও শব্দের অংশের একটি লেখা। কয়েকটি ঢাকা থাকে, আর মডেল আন্দাজ করে সেখানে কী আছে।</translation>
  </message>
  <message>
   <source>A sample is one example of what the model learns. It guesses, and is told what was right.</source>
   <translation>নমুনা হলো মডেল যা শেখে তার একটি উদাহরণ। সে আন্দাজ করে, আর কোনটি ঠিক ছিল তাকে বলা হয়।</translation>
  </message>
  <message>
   <source>A sample is too large: the call that learns from it has {size}, and carries at most {most}.</source>
   <translation>একটি নমুনা বেশি বড়: যে অনুরোধ তা থেকে শেখে তার আকার {size}, আর তাতে ধরে বড়জোর {most}।</translation>
  </message>
  <message>
   <source>A sample is {size} letters of a text. The model guesses each one from those before it.</source>
   <translation>নমুনা হলো একটি লেখার {size}টি অক্ষর। মডেল প্রতিটি আন্দাজ করে তার আগেরগুলো থেকে।</translation>
  </message>
  <message>
   <source>A shard is not what was written.</source>
   <translation>একটি খণ্ড যা লেখা হয়েছিল তা নয়।</translation>
  </message>
  <message>
   <source>A small GPT learns to write, letter by letter, as in the documentation that came with Python.</source>
   <translation>ছোট একটি GPT অক্ষরে অক্ষরে লিখতে শেখে, Python-এর সঙ্গে আসা নথির মতো করে।</translation>
  </message>
  <message>
   <source>A small language model learns to fill in missing words in the documentation that came with Python.</source>
   <translation>ছোট একটি ভাষা মডেল Python-এর সঙ্গে আসা নথিতে বাদ পড়া শব্দ পূরণ করতে শেখে।</translation>
  </message>
  <message>
   <source>A small model that fills blanks. Any computer helps; first words come within minutes.</source>
   <translation>শূন্যস্থান পূরণের ছোট মডেল। যেকোনো কম্পিউটার সাহায্য করে; কয়েক মিনিটেই প্রথম শব্দ আসে।</translation>
  </message>
  <message>
   <source>A small model that goes on with a text. Any computer helps; first words within minutes.</source>
   <translation>লেখা এগিয়ে নেওয়ার ছোট মডেল। যেকোনো কম্পিউটার সাহায্য করে; কয়েক মিনিটেই প্রথম শব্দ।</translation>
  </message>
  <message>
   <source>A stand-in tells its key when it starts.</source>
   <translation>বদলি শুরু হওয়ার সময় নিজের চাবি জানায়।</translation>
  </message>
  <message>
   <source>A&amp;dd a computer</source>
   <translation>কম্পিউটার যোগ করুন (&amp;D)</translation>
  </message>
  <message>
   <source>About and &amp;trust</source>
   <translation>পরিচিতি ও আস্থা (&amp;T)</translation>
  </message>
  <message>
   <source>About and trust</source>
   <translation>পরিচিতি ও আস্থা</translation>
  </message>
  <message>
   <source>About {download} are downloaded, and {disk} of the disk are taken. Each file is checked.</source>
   <translation>প্রায় {download} ডাউনলোড হবে, আর ডিস্কের {disk} লাগবে। প্রতিটি ফাইল যাচাই করা হয়।</translation>
  </message>
  <message>
   <source>About {known}: an estimate.</source>
   <translation>প্রায় {known}: একটি অনুমান।</translation>
  </message>
  <message>
   <source>About {kwh} kWh</source>
   <translation>প্রায় {kwh} kWh</translation>
  </message>
  <message>
   <source>About {needed}; {have}</source>
   <translation>প্রায় {needed}; {have}</translation>
  </message>
  <message>
   <source>Account</source>
   <translation>অ্যাকাউন্ট</translation>
  </message>
  <message>
   <source>Activity</source>
   <translation>কার্যকলাপ</translation>
  </message>
  <message>
   <source>Add --epochs N.</source>
   <translation>--epochs N যোগ করুন।</translation>
  </message>
  <message>
   <source>Add `potluck engine` to what your system starts at login.</source>
   <translation>লগইনের সময় আপনার সিস্টেম যা চালু করে তাতে `potluck engine` যোগ করুন।</translation>
  </message>
  <message>
   <source>Add another backbone first.</source>
   <translation>আগে আরেকটি ব্যাকবোন যোগ করুন।</translation>
  </message>
  <message>
   <source>Add another moderator first.</source>
   <translation>আগে আরেকজন মডারেটর যোগ করুন।</translation>
  </message>
  <message>
   <source>Address of a list</source>
   <translation>একটি তালিকার ঠিকানা</translation>
  </message>
  <message>
   <source>Addresses in the link: {hosts}</source>
   <translation>লিংকের ঠিকানা: {hosts}</translation>
  </message>
  <message>
   <source>All I ha&amp;ve</source>
   <translation>আমার যা আছে সব (&amp;V)</translation>
  </message>
  <message>
   <source>All computers go back to step {epoch} once enough moderators have agreed. Steps since then are not kept; a later copy can be gone back to in the same way.</source>
   <translation>যথেষ্ট মডারেটর রাজি হলে সব কম্পিউটার {epoch} নম্বর ধাপে ফিরে যাবে। তার পরের ধাপগুলো রাখা হবে না; পরের কোনো কপিতেও একইভাবে ফেরা যায়।</translation>
  </message>
  <message>
   <source>All cores but one</source>
   <translation>একটি বাদে সব কোর</translation>
  </message>
  <message>
   <source>All of the time, behind your programs; a card rests while you are there.</source>
   <translation>সব সময়, আপনার প্রোগ্রামের পিছনে; আপনি থাকলে কার্ড বিশ্রাম নেয়।</translation>
  </message>
  <message>
   <source>All of the time, the card also while you are there.</source>
   <translation>সব সময়, আপনি থাকলেও কার্ড চলে।</translation>
  </message>
  <message>
   <source>All others are on this computer, so no port has to be open.</source>
   <translation>বাকি সবাই এই কম্পিউটারেই, তাই কোনো পোর্ট খোলা লাগবে না।</translation>
  </message>
  <message>
   <source>All who take part see this name and what this computer gave; a made-up name is fine.</source>
   <translation>যাঁরা অংশ নেন তাঁরা সবাই এই নাম ও এই কম্পিউটারের অবদান দেখেন; বানানো নামও চলে।</translation>
  </message>
  <message>
   <source>Allow at least {least}, or choose no limit.</source>
   <translation>অন্তত {least} বরাদ্দ করুন, বা কোনো সীমা রাখবেন না।</translation>
  </message>
  <message>
   <source>Allow at least {least}, or pause Potluck while it should use no network.</source>
   <translation>অন্তত {least} বরাদ্দ করুন, বা Potluck-এর নেটওয়ার্ক নেওয়া না চললে থামিয়ে রাখুন।</translation>
  </message>
  <message>
   <source>Allow it more (on Linux: ulimit -n 4096), and start it again.</source>
   <translation>আরও বেশি বরাদ্দ করুন (Linux-এ: ulimit -n 4096), তারপর আবার চালু করুন।</translation>
  </message>
  <message>
   <source>Allow more, or no limit: potluck settings memory none</source>
   <translation>আরও বেশি বরাদ্দ করুন, বা সীমা তুলে নিন: potluck settings memory none</translation>
  </message>
  <message>
   <source>Allowed are: {names}.</source>
   <translation>যা চলে: {names}।</translation>
  </message>
  <message>
   <source>Always</source>
   <translation>সবসময়</translation>
  </message>
  <message>
   <source>Always on</source>
   <translation>সবসময় চালু</translation>
  </message>
  <message>
   <source>Another &amp;recipe:</source>
   <translation>আরেকটি রেসিপি (&amp;R):</translation>
  </message>
  <message>
   <source>Another Potluck is just starting.</source>
   <translation>আরেকটি Potluck এখনই চালু হচ্ছে।</translation>
  </message>
  <message>
   <source>Another Potluck just made this computer's key.</source>
   <translation>আরেকটি Potluck এইমাত্র এই কম্পিউটারের চাবি বানিয়েছে।</translation>
  </message>
  <message>
   <source>Another command changes this collaboration.</source>
   <translation>আরেকটি কমান্ড এই প্রকল্প বদলাচ্ছে।</translation>
  </message>
  <message>
   <source>Another command founds {name} there.</source>
   <translation>আরেকটি কমান্ড সেখানে {name} শুরু করছে।</translation>
  </message>
  <message>
   <source>Another computer takes part with the key of this one, and the others reach now one and now the other: perhaps Potluck's folder was copied. Have one of the two join anew, in a new folder.</source>
   <translation>আরেকটি কম্পিউটার এই কম্পিউটারের চাবি দিয়ে অংশ নিচ্ছে, আর অন্যরা কখনো একটিকে, কখনো অন্যটিকে পায়: হয়তো Potluck-এর ফোল্ডারটি কপি করা হয়েছে। দুটির একটিতে নতুন ফোল্ডারে নতুন করে যোগ দিন।</translation>
  </message>
  <message>
   <source>Another is chosen as in: potluck settings device cpu; several as in: potluck settings device cuda:0,cpu</source>
   <translation>অন্যটি এভাবে বাছুন: potluck settings device cpu; কয়েকটি এভাবে: potluck settings device cuda:0,cpu</translation>
  </message>
  <message>
   <source>Another one?</source>
   <translation>আরেকটি?</translation>
  </message>
  <message>
   <source>Another program answers where Potluck did.</source>
   <translation>যেখানে Potluck ছিল সেখানে অন্য প্রোগ্রাম উত্তর দিচ্ছে।</translation>
  </message>
  <message>
   <source>Another program has locked the database {place}.</source>
   <translation>অন্য একটি প্রোগ্রাম {place} ডেটাবেস আটকে রেখেছে।</translation>
  </message>
  <message>
   <source>Another program holds {path} open, an antivirus for example.</source>
   <translation>অন্য একটি প্রোগ্রাম {path} খুলে রেখেছে, যেমন কোনো অ্যান্টিভাইরাস।</translation>
  </message>
  <message>
   <source>Another share by the clock</source>
   <translation>ঘড়ি ধরে আলাদা ভাগ</translation>
  </message>
  <message>
   <source>Any</source>
   <translation>যেকোনো</translation>
  </message>
  <message>
   <source>Any number of computers</source>
   <translation>যত খুশি কম্পিউটার</translation>
  </message>
  <message>
   <source>Apple's graphics</source>
   <translation>Apple-এর গ্রাফিক্স</translation>
  </message>
  <message>
   <source>Arrow keys move, Shift and arrow keys mark, Space opens or closes what is marked.</source>
   <translation>তীর চাবি নড়ায়, Shift ও তীর চাবি বাছে, Space বাছা অংশ খোলে বা বন্ধ করে।</translation>
  </message>
  <message>
   <source>As many as otherwise</source>
   <translation>অন্য সময়ের মতোই</translation>
  </message>
  <message>
   <source>As many people have come in today as this collaboration lets in.</source>
   <translation>এই প্রকল্প দিনে যত জনকে ঢুকতে দেয়, আজ ততজন এসে গেছেন।</translation>
  </message>
  <message>
   <source>As measured or estimated</source>
   <translation>মাপা বা অনুমান করা মতো</translation>
  </message>
  <message>
   <source>As memory allows</source>
   <translation>মেমরিতে যত ধরে</translation>
  </message>
  <message>
   <source>As wor&amp;ds</source>
   <translation>শব্দে (&amp;D)</translation>
  </message>
  <message>
   <source>Ask a moderator to add it.</source>
   <translation>একজন মডারেটরকে এটি যোগ করতে বলুন।</translation>
  </message>
  <message>
   <source>Ask again</source>
   <translation>আবার জিজ্ঞাসা করুন</translation>
  </message>
  <message>
   <source>Ask again in a minute.</source>
   <translation>এক মিনিট পরে আবার জিজ্ঞাসা করুন।</translation>
  </message>
  <message>
   <source>Ask again in a moment.</source>
   <translation>একটু পরে আবার জিজ্ঞাসা করুন।</translation>
  </message>
  <message>
   <source>Ask for a new link.</source>
   <translation>নতুন লিংক চান।</translation>
  </message>
  <message>
   <source>Ask for the file that potluck directory --make has written.</source>
   <translation>potluck directory --make যে ফাইল লিখেছে সেটি চান।</translation>
  </message>
  <message>
   <source>Ask its organiser to put you there, then sign in again.</source>
   <translation>আয়োজককে বলুন আপনাকে সেখানে রাখতে, তারপর আবার সাইন ইন করুন।</translation>
  </message>
  <message>
   <source>Ask on a computer that trains.</source>
   <translation>যে কম্পিউটার প্রশিক্ষণ দেয় সেখানে জিজ্ঞাসা করুন।</translation>
  </message>
  <message>
   <source>Ask the moderators, and start it with --stand-in on a computer that takes part.</source>
   <translation>মডারেটরদের বলুন, আর অংশ নিচ্ছে এমন কম্পিউটারে --stand-in দিয়ে এটি চালু করুন।</translation>
  </message>
  <message>
   <source>Ask the organiser for a complete one.</source>
   <translation>আয়োজকের কাছে পুরো একটি চান।</translation>
  </message>
  <message>
   <source>Ask the organiser for a link with an invitation, under another name.</source>
   <translation>আয়োজকের কাছে অন্য নামে আমন্ত্রণসহ লিংক চান।</translation>
  </message>
  <message>
   <source>Ask the organiser for a new link.</source>
   <translation>আয়োজকের কাছে নতুন লিংক চান।</translation>
  </message>
  <message>
   <source>Ask the organiser for a new one.</source>
   <translation>আয়োজকের কাছে নতুন একটি চান।</translation>
  </message>
  <message>
   <source>Ask the organiser for new ones.</source>
   <translation>আয়োজকের কাছে নতুনগুলো চান।</translation>
  </message>
  <message>
   <source>Ask the organiser for one that fits.</source>
   <translation>আয়োজকের কাছে মানানসই একটি চান।</translation>
  </message>
  <message>
   <source>Ask the organiser for one without `delayed`.</source>
   <translation>আয়োজকের কাছে `delayed` ছাড়া একটি চান।</translation>
  </message>
  <message>
   <source>Ask the organiser for the collaboration's link again.</source>
   <translation>আয়োজকের কাছে আবার প্রকল্পের লিংক চান।</translation>
  </message>
  <message>
   <source>Ask the organiser for the link of another collaboration.</source>
   <translation>আয়োজকের কাছে অন্য প্রকল্পের লিংক চান।</translation>
  </message>
  <message>
   <source>Ask the organiser for the link.</source>
   <translation>আয়োজকের কাছে লিংকটি চান।</translation>
  </message>
  <message>
   <source>Ask the organiser to update the backbone, or for a link with an invitation.</source>
   <translation>আয়োজককে ব্যাকবোন হালনাগাদ করতে বলুন, বা আমন্ত্রণসহ লিংক চান।</translation>
  </message>
  <message>
   <source>Ask the organiser to update the backbone.</source>
   <translation>আয়োজককে ব্যাকবোন হালনাগাদ করতে বলুন।</translation>
  </message>
  <message>
   <source>Ask the organiser why; a day after your request you can ask again where you signed in.</source>
   <translation>কেন তা আয়োজককে জিজ্ঞাসা করুন; অনুরোধের এক দিন পরে যেখানে সাইন ইন করেছিলেন সেখানে আবার চাইতে পারেন।</translation>
  </message>
  <message>
   <source>Ask the organiser.</source>
   <translation>আয়োজককে জিজ্ঞাসা করুন।</translation>
  </message>
  <message>
   <source>Ask {organiser} for a link: only the charter makes new ones.</source>
   <translation>{organiser}-এর কাছে লিংক চান: শুধু সনদ থেকেই নতুন লিংক হয়।</translation>
  </message>
  <message>
   <source>Asking the engine…</source>
   <translation>ইঞ্জিনকে জিজ্ঞাসা করা হচ্ছে…</translation>
  </message>
  <message>
   <source>Asking the organiser's computer…</source>
   <translation>আয়োজকের কম্পিউটারকে জিজ্ঞাসা করা হচ্ছে…</translation>
  </message>
  <message>
   <source>Asking the router…</source>
   <translation>রাউটারকে জিজ্ঞাসা করা হচ্ছে…</translation>
  </message>
  <message>
   <source>At other times</source>
   <translation>অন্য সময়ে</translation>
  </message>
  <message>
   <source>At these ho&amp;urs</source>
   <translation>এই সময়ে (&amp;U)</translation>
  </message>
  <message>
   <source>Averaged</source>
   <translation>গড় করা হয়েছে</translation>
  </message>
  <message>
   <source>Averaged {numbers} numbers for everybody in {rounds} rounds.</source>
   <translation>{rounds} রাউন্ডে সবার জন্য {numbers}টি সংখ্যার গড় করা হয়েছে।</translation>
  </message>
  <message>
   <source>Averaging</source>
   <translation>গড় করছে</translation>
  </message>
  <message>
   <source>Averaging {company}{meanwhile}: everyone's work becomes step {epoch} of the model.</source>
   <translation>গড় করছে {company}{meanwhile}: সবার কাজ মিলে মডেলের {epoch} ধাপ হচ্ছে।</translation>
  </message>
  <message>
   <source>Ban them, which needs the others' signatures.</source>
   <translation>তাঁদের নিষেধ করুন, এতে অন্যদের সই লাগে।</translation>
  </message>
  <message>
   <source>Begin with a model that Potluck has exported.</source>
   <translation>Potluck-এ রপ্তানি করা মডেল দিয়ে শুরু করুন।</translation>
  </message>
  <message>
   <source>Begin with another model, or without one.</source>
   <translation>অন্য মডেল দিয়ে, বা মডেল ছাড়াই শুরু করুন।</translation>
  </message>
  <message>
   <source>Blank {number}</source>
   <translation>শূন্যস্থান {number}</translation>
  </message>
  <message>
   <source>Bring back a copy of it, or start the backbone again to begin with an empty one.</source>
   <translation>এর একটি কপি ফিরিয়ে আনুন, বা খালি একটি দিয়ে শুরু করতে ব্যাকবোন আবার চালু করুন।</translation>
  </message>
  <message>
   <source>Bring back a copy of it.</source>
   <translation>এর একটি কপি ফিরিয়ে আনুন।</translation>
  </message>
  <message>
   <source>Bring back {invitations}.</source>
   <translation>{invitations} ফিরিয়ে আনুন।</translation>
  </message>
  <message>
   <source>Bring it back as it was.</source>
   <translation>যেমন ছিল তেমন ফিরিয়ে আনুন।</translation>
  </message>
  <message>
   <source>Bring it here, or go on from a computer that has it.</source>
   <translation>এটি এখানে আনুন, বা যে কম্পিউটারে আছে সেখান থেকে এগিয়ে চলুন।</translation>
  </message>
  <message>
   <source>Bring the tokenizer that belongs to the model.</source>
   <translation>মডেলটির নিজের টোকেনাইজার আনুন।</translation>
  </message>
  <message>
   <source>Bring them back.</source>
   <translation>সেগুলো ফিরিয়ে আনুন।</translation>
  </message>
  <message>
   <source>Build of torch</source>
   <translation>torch-এর সংস্করণ</translation>
  </message>
  <message>
   <source>By day</source>
   <translation>দিন ধরে</translation>
  </message>
  <message>
   <source>By round</source>
   <translation>রাউন্ড ধরে</translation>
  </message>
  <message>
   <source>By the moderators' list, this backbone lets nobody in.</source>
   <translation>মডারেটরদের তালিকা অনুযায়ী এই ব্যাকবোন কাউকে ঢুকতে দেয় না।</translation>
  </message>
  <message>
   <source>By the rules</source>
   <translation>নিয়ম মেনে</translation>
  </message>
  <message>
   <source>By the rules until {moment}</source>
   <translation>{moment} পর্যন্ত নিয়ম মেনে</translation>
  </message>
  <message>
   <source>By their receipts, {samples} samples were averaged: the model counts fewer, because a round was not kept or has only just ended.</source>
   <translation>তাঁদের রসিদ অনুযায়ী {samples}টি নমুনার গড় হয়েছে: মডেল কম গোনে, কারণ একটি রাউন্ড রাখা হয়নি বা সবে শেষ হয়েছে।</translation>
  </message>
  <message>
   <source>By this computer's clock, its pass does not hold now. Waiting for the backbone at {where} to renew it.</source>
   <translation>এই কম্পিউটারের ঘড়ি অনুযায়ী এর পাস এখন খাটে না। নবায়নের জন্য {where}-এর ব্যাকবোনের অপেক্ষা চলছে।</translation>
  </message>
  <message>
   <source>C&amp;ancel</source>
   <translation>বাতিল (&amp;A)</translation>
  </message>
  <message>
   <source>C&amp;lose</source>
   <translation>বন্ধ করুন (&amp;L)</translation>
  </message>
  <message>
   <source>C&amp;opy the code</source>
   <translation>কোড কপি করুন (&amp;O)</translation>
  </message>
  <message>
   <source>Call it {stem}.prom.</source>
   <translation>নাম দিন {stem}.prom।</translation>
  </message>
  <message>
   <source>Cancel</source>
   <translation>বাতিল</translation>
  </message>
  <message>
   <source>Carbon dio&amp;xide</source>
   <translation>কার্বন ডাই-অক্সাইড (&amp;X)</translation>
  </message>
  <message>
   <source>Carry connections for &amp;others</source>
   <translation>অন্যদের সংযোগ বয়ে দিন (&amp;O)</translation>
  </message>
  <message>
   <source>Catching up</source>
   <translation>ধরে ফেলছে</translation>
  </message>
  <message>
   <source>Catching up with the others, who are ahead{pieces}.</source>
   <translation>অন্যদের ধরে ফেলছে, তারা এগিয়ে আছে{pieces}।</translation>
  </message>
  <message>
   <source>Change it, or leave it out.</source>
   <translation>এটি বদলান, বা বাদ দিন।</translation>
  </message>
  <message>
   <source>Change its permissions, or set POTLUCK_HOME.</source>
   <translation>এর অনুমতি বদলান, বা POTLUCK_HOME ঠিক করুন।</translation>
  </message>
  <message>
   <source>Change the limits…</source>
   <translation>সীমা বদলান…</translation>
  </message>
  <message>
   <source>Change this rule…</source>
   <translation>এই নিয়ম বদলান…</translation>
  </message>
  <message>
   <source>Change what Potluck ma&amp;y take…</source>
   <translation>Potluck কতটা নিতে পারে বদলান (&amp;Y)…</translation>
  </message>
  <message>
   <source>Check its permissions.</source>
   <translation>এর অনুমতি দেখুন।</translation>
  </message>
  <message>
   <source>Check that it is a file that belongs to you.</source>
   <translation>দেখুন এটি আপনার নিজের ফাইল কি না।</translation>
  </message>
  <message>
   <source>Check that the file belongs to you.</source>
   <translation>দেখুন ফাইলটি আপনার কি না।</translation>
  </message>
  <message>
   <source>Check that the folder belongs to you and is not read-only.</source>
   <translation>দেখুন ফোল্ডারটি আপনার কি না এবং তাতে লেখা যায় কি না।</translation>
  </message>
  <message>
   <source>Check the address and the connection, and try again.</source>
   <translation>ঠিকানা ও সংযোগ দেখুন, তারপর আবার চেষ্টা করুন।</translation>
  </message>
  <message>
   <source>Check the address and your connection, and try again later.</source>
   <translation>ঠিকানা ও আপনার সংযোগ দেখুন, তারপর পরে আবার চেষ্টা করুন।</translation>
  </message>
  <message>
   <source>Check the address, or ask for the file.</source>
   <translation>ঠিকানাটি দেখুন, বা ফাইলটি চান।</translation>
  </message>
  <message>
   <source>Check the address, the connection, and your right to it (potluck data login keeps a password).</source>
   <translation>ঠিকানা, সংযোগ, আর সেখানে আপনার অধিকার দেখুন (potluck data login পাসওয়ার্ড রাখে)।</translation>
  </message>
  <message>
   <source>Check the connection, and the proxy if there is one (HTTPS_PROXY), then try again. Without internet: potluck training-part get --from FOLDER</source>
   <translation>সংযোগ দেখুন, প্রক্সি থাকলে সেটিও (HTTPS_PROXY), তারপর আবার চেষ্টা করুন। ইন্টারনেট ছাড়া: potluck training-part get --from FOLDER</translation>
  </message>
  <message>
   <source>Check the connection, and the proxy if there is one (HTTPS_PROXY): it goes on where it was.</source>
   <translation>সংযোগ দেখুন, প্রক্সি থাকলে সেটিও (HTTPS_PROXY): যেখানে ছিল সেখান থেকে চলবে।</translation>
  </message>
  <message>
   <source>Check the disk.</source>
   <translation>ডিস্কটি দেখুন।</translation>
  </message>
  <message>
   <source>Check the link and your connection, and try again later.</source>
   <translation>লিংক ও আপনার সংযোগ দেখুন, তারপর পরে আবার চেষ্টা করুন।</translation>
  </message>
  <message>
   <source>Check this &amp;computer</source>
   <translation>এই কম্পিউটার পরীক্ষা (&amp;C)</translation>
  </message>
  <message>
   <source>Check this comp&amp;uter</source>
   <translation>এই কম্পিউটার পরীক্ষা (&amp;U)</translation>
  </message>
  <message>
   <source>Check this computer</source>
   <translation>এই কম্পিউটার পরীক্ষা</translation>
  </message>
  <message>
   <source>Check your connection, and try again later.</source>
   <translation>আপনার সংযোগ দেখুন, তারপর পরে আবার চেষ্টা করুন।</translation>
  </message>
  <message>
   <source>Checking…</source>
   <translation>পরীক্ষা চলছে…</translation>
  </message>
  <message>
   <source>Choose a f&amp;ile…</source>
   <translation>ফাইল বাছুন (&amp;I)…</translation>
  </message>
  <message>
   <source>Choose a fol&amp;der…</source>
   <translation>ফোল্ডার বাছুন (&amp;D)…</translation>
  </message>
  <message>
   <source>Choose a smaller width or length of samples, or the codec u8.</source>
   <translation>নমুনার কম প্রস্থ বা দৈর্ঘ্য বাছুন, অথবা কোডেক u8।</translation>
  </message>
  <message>
   <source>Choose a whole number from {low} to {high}{otherwise}.</source>
   <translation>{low} থেকে {high} পর্যন্ত একটি পূর্ণ সংখ্যা বাছুন{otherwise}।</translation>
  </message>
  <message>
   <source>Choose another name, or name another folder with --charter.</source>
   <translation>অন্য নাম বাছুন, বা --charter দিয়ে অন্য ফোল্ডারের নাম দিন।</translation>
  </message>
  <message>
   <source>Choose another name.</source>
   <translation>অন্য নাম বাছুন।</translation>
  </message>
  <message>
   <source>Choose another one.</source>
   <translation>অন্য একটি বাছুন।</translation>
  </message>
  <message>
   <source>Choose another one: --site PORT --site-bind ADDRESS</source>
   <translation>অন্য একটি বাছুন: --site PORT --site-bind ADDRESS</translation>
  </message>
  <message>
   <source>Choose another port.</source>
   <translation>অন্য পোর্ট বাছুন।</translation>
  </message>
  <message>
   <source>Choose auto, all, or one or more of cpu, cuda, cuda:1, mps and xpu with commas between them; potluck doctor says which there are.</source>
   <translation>auto, all, বা cpu, cuda, cuda:1, mps ও xpu থেকে এক বা একাধিক কমা দিয়ে বাছুন; কী কী আছে তা potluck doctor বলে।</translation>
  </message>
  <message>
   <source>Choose no limit instead.</source>
   <translation>বরং কোনো সীমা রাখবেন না।</translation>
  </message>
  <message>
   <source>Choose one of 1 to 40 letters, digits and spaces.</source>
   <translation>1 থেকে 40টি অক্ষর, অঙ্ক ও ফাঁকের একটি নাম বাছুন।</translation>
  </message>
  <message>
   <source>Choose one of 1 to {most} bytes that can be printed.</source>
   <translation>ছাপা যায় এমন 1 থেকে {most} বাইটের একটি বাছুন।</translation>
  </message>
  <message>
   <source>Choose one of 1 to {most} printable bytes.</source>
   <translation>ছাপা যায় এমন 1 থেকে {most} বাইটের একটি বাছুন।</translation>
  </message>
  <message>
   <source>Choose one of at most {most} letters, digits and spaces.</source>
   <translation>বড়জোর {most}টি অক্ষর, অঙ্ক ও ফাঁকের একটি নাম বাছুন।</translation>
  </message>
  <message>
   <source>Choose one of this computer's addresses, or {any} for all.</source>
   <translation>এই কম্পিউটারের ঠিকানাগুলোর একটি বাছুন, বা সবগুলোর জন্য {any}।</translation>
  </message>
  <message>
   <source>Choose one with letters of one.</source>
   <translation>এক লিপির অক্ষরের একটি নাম বাছুন।</translation>
  </message>
  <message>
   <source>Choose one within the next {days} days.</source>
   <translation>আগামী {days} দিনের মধ্যে একটি বাছুন।</translation>
  </message>
  <message>
   <source>Choose others: potluck settings device auto</source>
   <translation>অন্যগুলো বাছুন: potluck settings device auto</translation>
  </message>
  <message>
   <source>Choose the task that fits the model, or another model.</source>
   <translation>মডেলের সঙ্গে মেলে এমন কাজ বাছুন, বা অন্য মডেল।</translation>
  </message>
  <message>
   <source>Choose what is learned, and get a link for them: four pages, this computer is enough.</source>
   <translation>কী শেখা হবে বাছুন, আর তাঁদের জন্য লিংক নিন: চারটি পাতা, এই কম্পিউটারই যথেষ্ট।</translation>
  </message>
  <message>
   <source>Choose {names}, or one card, such as cuda:1.</source>
   <translation>{names} বাছুন, বা একটি কার্ড, যেমন cuda:1।</translation>
  </message>
  <message>
   <source>Choose {names}.</source>
   <translation>{names} থেকে বাছুন।</translation>
  </message>
  <message>
   <source>Choose: {commands}</source>
   <translation>বাছুন: {commands}</translation>
  </message>
  <message>
   <source>Cl&amp;ose</source>
   <translation>বন্ধ করুন (&amp;O)</translation>
  </message>
  <message>
   <source>Click to open or close all of this day</source>
   <translation>এই দিনের সব ঘণ্টা খুলতে বা বন্ধ করতে ক্লিক করুন</translation>
  </message>
  <message>
   <source>Click to open or close this hour on all days</source>
   <translation>সব দিনের এই ঘণ্টা খুলতে বা বন্ধ করতে ক্লিক করুন</translation>
  </message>
  <message>
   <source>Close &amp;window</source>
   <translation>জানালা বন্ধ করুন (&amp;W)</translation>
  </message>
  <message>
   <source>Close one of them.</source>
   <translation>একটি বন্ধ করুন।</translation>
  </message>
  <message>
   <source>Close other programs, or choose another device: potluck settings device cpu</source>
   <translation>অন্য প্রোগ্রাম বন্ধ করুন, বা অন্য যন্ত্র বাছুন: potluck settings device cpu</translation>
  </message>
  <message>
   <source>Close that program, or choose another port; 0 lets the system choose.</source>
   <translation>সেই প্রোগ্রাম বন্ধ করুন, বা অন্য পোর্ট বাছুন; 0 দিলে সিস্টেম নিজেই বাছে।</translation>
  </message>
  <message>
   <source>Close the window, or quit Potluck?</source>
   <translation>জানালা বন্ধ করবেন, না Potluck থেকে বেরিয়ে যাবেন?</translation>
  </message>
  <message>
   <source>Co&amp;llaboration</source>
   <translation>প্রকল্প (&amp;L)</translation>
  </message>
  <message>
   <source>Co&amp;lours</source>
   <translation>রং (&amp;L)</translation>
  </message>
  <message>
   <source>Code</source>
   <translation>কোড</translation>
  </message>
  <message>
   <source>Colla&amp;borations</source>
   <translation>প্রকল্প (&amp;B)</translation>
  </message>
  <message>
   <source>Collaboration</source>
   <translation>প্রকল্প</translation>
  </message>
  <message>
   <source>Collaborations</source>
   <translation>প্রকল্প</translation>
  </message>
  <message>
   <source>Compare a fingerprint with the one that its owner shows you: it cannot be imitated.</source>
   <translation>মালিক যে ফিঙ্গারপ্রিন্ট দেখান তার সঙ্গে মিলিয়ে দেখুন: তা নকল করা যায় না।</translation>
  </message>
  <message>
   <source>Compare it with another.</source>
   <translation>আরেকটির সঙ্গে মিলিয়ে দেখুন।</translation>
  </message>
  <message>
   <source>Compare the fingerprint with the one that the organiser shows you.</source>
   <translation>আয়োজক যে ফিঙ্গারপ্রিন্ট দেখান তার সঙ্গে মিলিয়ে দেখুন।</translation>
  </message>
  <message>
   <source>Computed on: {device}</source>
   <translation>হিসাব হয়েছে: {device}</translation>
  </message>
  <message>
   <source>Computes on</source>
   <translation>যেখানে হিসাব হয়</translation>
  </message>
  <message>
   <source>Computing</source>
   <translation>হিসাব</translation>
  </message>
  <message>
   <source>Connect it to train with others; potluck demo needs no network.</source>
   <translation>অন্যদের সঙ্গে প্রশিক্ষণে একে নেটওয়ার্কে জুড়ুন; potluck demo-র নেটওয়ার্ক লাগে না।</translation>
  </message>
  <message>
   <source>Connect to it</source>
   <translation>এর সঙ্গে যুক্ত হওয়া</translation>
  </message>
  <message>
   <source>Connected {medium}, {router}.</source>
   <translation>যুক্ত {medium}, {router}।</translation>
  </message>
  <message>
   <source>Contribute</source>
   <translation>অবদান রাখুন</translation>
  </message>
  <message>
   <source>Contribute &amp;now for 1 hour</source>
   <translation>এখন 1 ঘণ্টা অবদান রাখুন (&amp;N)</translation>
  </message>
  <message>
   <source>Contribute (Space)</source>
   <translation>অবদান রাখুন (Space)</translation>
  </message>
  <message>
   <source>Contribute now for 1 hour</source>
   <translation>এখন 1 ঘণ্টা অবদান রাখুন</translation>
  </message>
  <message>
   <source>Contributing</source>
   <translation>অবদান রাখছে</translation>
  </message>
  <message>
   <source>Cop&amp;y</source>
   <translation>কপি করুন (&amp;Y)</translation>
  </message>
  <message>
   <source>Copied</source>
   <translation>কপি হয়েছে</translation>
  </message>
  <message>
   <source>Copies of the model</source>
   <translation>মডেলের কপি</translation>
  </message>
  <message>
   <source>Copy it again, or make it again with: potluck data verify {folder} --again</source>
   <translation>আবার কপি করুন, বা আবার বানান: potluck data verify {folder} --again</translation>
  </message>
  <message>
   <source>Copy the model's answer</source>
   <translation>মডেলের উত্তর কপি করুন</translation>
  </message>
  <message>
   <source>Copy the shards from another place, or cut the text again.</source>
   <translation>খণ্ডগুলো অন্য জায়গা থেকে কপি করুন, বা লেখা আবার কাটুন।</translation>
  </message>
  <message>
   <source>Copy the whole of the link, or ask the organiser for one with an invitation.</source>
   <translation>পুরো লিংক কপি করুন, বা আয়োজকের কাছে আমন্ত্রণসহ একটি চান।</translation>
  </message>
  <message>
   <source>Copy {number}: step {epoch}, {came}</source>
   <translation>কপি {number}: ধাপ {epoch}, {came}</translation>
  </message>
  <message>
   <source>Correct it.</source>
   <translation>এটি ঠিক করুন।</translation>
  </message>
  <message>
   <source>Cosine</source>
   <translation>কোসাইন</translation>
  </message>
  <message>
   <source>Counting words</source>
   <translation>শব্দ গোনা হচ্ছে</translation>
  </message>
  <message>
   <source>Counting words, and pairs of them</source>
   <translation>শব্দ ও শব্দের জোড়া গোনা</translation>
  </message>
  <message>
   <source>Cut it differently.</source>
   <translation>এটি অন্যভাবে কাটুন।</translation>
  </message>
  <message>
   <source>Cut its text with `potluck data cut`, and found it with the index.</source>
   <translation>`potluck data cut` দিয়ে এর লেখা কাটুন, আর সেই সূচি দিয়ে শুরু করুন।</translation>
  </message>
  <message>
   <source>Cut larger ones: --shard-mb.</source>
   <translation>বড় করে কাটুন: --shard-mb।</translation>
  </message>
  <message>
   <source>Cut the data anew, or copy the file again.</source>
   <translation>ডেটা নতুন করে কাটুন, বা ফাইলটি আবার কপি করুন।</translation>
  </message>
  <message>
   <source>Cut the text again with `potluck data cut`, or update Potluck.</source>
   <translation>`potluck data cut` দিয়ে লেখা আবার কাটুন, বা Potluck হালনাগাদ করুন।</translation>
  </message>
  <message>
   <source>Cut the text into another folder, or delete this one.</source>
   <translation>লেখা অন্য ফোল্ডারে কাটুন, বা এটি মুছুন।</translation>
  </message>
  <message>
   <source>Cut the text with `potluck data cut`, which writes one.</source>
   <translation>`potluck data cut` দিয়ে লেখা কাটুন, তাতে একটি লেখা হয়।</translation>
  </message>
  <message>
   <source>Data come again, and training has what it needs.</source>
   <translation>ডেটা আবার আসছে, প্রশিক্ষণের যা দরকার তা আছে।</translation>
  </message>
  <message>
   <source>Data stalled: finding out which files of {name} are meant took this computer too long or too much memory. It is tried again.</source>
   <translation>ডেটা আটকে আছে: {name}-এর কোন ফাইলগুলো বোঝানো হয়েছে তা বের করতে এই কম্পিউটারের খুব বেশি সময় বা মেমরি লেগেছে। আবার চেষ্টা হবে।</translation>
  </message>
  <message>
   <source>Data stalled: the certificate of {host} is not valid: {why}.</source>
   <translation>ডেটা আটকে আছে: {host}-এর সার্টিফিকেট খাটে না: {why}।</translation>
  </message>
  <message>
   <source>Data stalled: there are too many files.</source>
   <translation>ডেটা আটকে আছে: ফাইল খুব বেশি।</translation>
  </message>
  <message>
   <source>Data stalled: there is no room on the disk, or too little of it for data is allowed.</source>
   <translation>ডেটা আটকে আছে: ডিস্কে জায়গা নেই, বা ডেটার জন্য খুব কম জায়গা দেওয়া আছে।</translation>
  </message>
  <message>
   <source>Data stalled: {host} does not let this computer read ({status}). The command potluck data login keeps a password for it.</source>
   <translation>ডেটা আটকে আছে: {host} এই কম্পিউটারকে পড়তে দেয় না ({status})। potluck data login কমান্ড এর পাসওয়ার্ড রাখে।</translation>
  </message>
  <message>
   <source>Data stalled: {host} is in a private network. Text there is read only where the organiser names the address in numbers, and you joined by a link whose addresses are all private: ask the organiser for one.</source>
   <translation>ডেটা আটকে আছে: {host} একটি ব্যক্তিগত নেটওয়ার্কে আছে। সেখানকার লেখা কেবল তখনই পড়া হয়, যখন আয়োজক ঠিকানাটি সংখ্যায় দেন এবং আপনি এমন লিংকে যোগ দিয়েছেন যার সব ঠিকানা ব্যক্তিগত: আয়োজকের কাছে এমন লিংক চান।</translation>
  </message>
  <message>
   <source>Data stalled: {name} could not be written ({why}). Check that the folder belongs to you and is not read-only.</source>
   <translation>ডেটা আটকে আছে: {name} লেখা যায়নি ({why})। দেখুন ফোল্ডারটি আপনার কি না এবং তাতে লেখা যায় কি না।</translation>
  </message>
  <message>
   <source>Data stalled: {name} has no column {column}. The organiser can mend that.</source>
   <translation>ডেটা আটকে আছে: {name}-এ {column} কলাম নেই। আয়োজক তা ঠিক করতে পারেন।</translation>
  </message>
  <message>
   <source>Data stalled: {name} holds something else than text. The organiser can mend that.</source>
   <translation>ডেটা আটকে আছে: {name}-এ লেখা নয়, অন্য কিছু আছে। আয়োজক তা ঠিক করতে পারেন।</translation>
  </message>
  <message>
   <source>Data stalled: {name} is damaged. The organiser can mend that.</source>
   <translation>ডেটা আটকে আছে: {name} নষ্ট। আয়োজক তা ঠিক করতে পারেন।</translation>
  </message>
  <message>
   <source>Data stalled: {name} is not there any more. The organiser can mend that.</source>
   <translation>ডেটা আটকে আছে: {name} আর সেখানে নেই। আয়োজক তা ঠিক করতে পারেন।</translation>
  </message>
  <message>
   <source>Data stalled: {name} is not what the organiser has signed. It is asked for again.</source>
   <translation>ডেটা আটকে আছে: {name} আয়োজকের সই করা ফাইলটি নয়। আবার চাওয়া হচ্ছে।</translation>
  </message>
  <message>
   <source>Data wait: your rules forbid the network now.</source>
   <translation>ডেটা অপেক্ষায়: আপনার নিয়ম এখন নেটওয়ার্ক নিতে দেয় না।</translation>
  </message>
  <message>
   <source>Data wait: {name} has changed while it was read. It is read again from its start.</source>
   <translation>ডেটা অপেক্ষায়: পড়ার সময় {name} বদলে গেছে। শুরু থেকে আবার পড়া হচ্ছে।</translation>
  </message>
  <message>
   <source>Day</source>
   <translation>দিন</translation>
  </message>
  <message>
   <source>Decisions of other roles.</source>
   <translation>অন্য ভূমিকার সিদ্ধান্ত।</translation>
  </message>
  <message>
   <source>Details</source>
   <translation>বিস্তারিত</translation>
  </message>
  <message>
   <source>Did not arrive in time</source>
   <translation>সময়মতো পৌঁছায়নি</translation>
  </message>
  <message>
   <source>Digest of its numbers</source>
   <translation>এর সংখ্যাগুলোর ডাইজেস্ট</translation>
  </message>
  <message>
   <source>Disk</source>
   <translation>ডিস্ক</translation>
  </message>
  <message>
   <source>Disk f&amp;or data</source>
   <translation>ডেটার জন্য ডিস্ক (&amp;O)</translation>
  </message>
  <message>
   <source>Dismiss</source>
   <translation>সরিয়ে দিন</translation>
  </message>
  <message>
   <source>Do not sign it before its author has told what it is: see the copies with potluck moderate copies.</source>
   <translation>এটি কী তা এর লেখক না বলা পর্যন্ত সই করবেন না: অনুলিপিগুলি দেখুন potluck moderate copies দিয়ে।</translation>
  </message>
  <message>
   <source>Do not trust this file.</source>
   <translation>এই ফাইল বিশ্বাস করবেন না।</translation>
  </message>
  <message>
   <source>Do not use it; ask the organiser for the collaboration's link again.</source>
   <translation>এটি ব্যবহার করবেন না; আয়োজকের কাছে আবার প্রকল্পের লিংক চান।</translation>
  </message>
  <message>
   <source>Do you want to take part?</source>
   <translation>আপনি কি অংশ নিতে চান?</translation>
  </message>
  <message>
   <source>Doing</source>
   <translation>কী করছে</translation>
  </message>
  <message>
   <source>Download</source>
   <translation>ডাউনলোড</translation>
  </message>
  <message>
   <source>Downloading: {done} of {total}</source>
   <translation>ডাউনলোড হচ্ছে: {total}-এর {done}</translation>
  </message>
  <message>
   <source>Each round leaves a receipt.</source>
   <translation>প্রতিটি রাউন্ড একটি রসিদ রেখে যায়।</translation>
  </message>
  <message>
   <source>Electricity</source>
   <translation>বিদ্যুৎ</translation>
  </message>
  <message>
   <source>End it from another one, or leave.</source>
   <translation>অন্য একটি থেকে এটি শেষ করুন, বা ছেড়ে যান।</translation>
  </message>
  <message>
   <source>End it with the system's task manager, or log out.</source>
   <translation>সিস্টেমের টাস্ক ম্যানেজার দিয়ে শেষ করুন, বা লগ আউট করুন।</translation>
  </message>
  <message>
   <source>End it with: potluck quit --now</source>
   <translation>এভাবে শেষ করুন: potluck quit --now</translation>
  </message>
  <message>
   <source>End process {pid}.</source>
   <translation>{pid} প্রক্রিয়াটি শেষ করুন।</translation>
  </message>
  <message>
   <source>End programs that you do not need.</source>
   <translation>যেসব প্রোগ্রাম লাগে না সেগুলো শেষ করুন।</translation>
  </message>
  <message>
   <source>End that program, or choose another port: potluck settings port NUMBER</source>
   <translation>সেই প্রোগ্রাম শেষ করুন, বা অন্য পোর্ট বাছুন: potluck settings port NUMBER</translation>
  </message>
  <message>
   <source>End that program.</source>
   <translation>সেই প্রোগ্রাম শেষ করুন।</translation>
  </message>
  <message>
   <source>End {computer}</source>
   <translation>{computer} শেষ করুন</translation>
  </message>
  <message>
   <source>End {computer}?</source>
   <translation>{computer} শেষ করবেন?</translation>
  </message>
  <message>
   <source>Ended</source>
   <translation>শেষ</translation>
  </message>
  <message>
   <source>End…</source>
   <translation>শেষ করুন…</translation>
  </message>
  <message>
   <source>Ever&amp;y night</source>
   <translation>প্রতি রাতে (&amp;Y)</translation>
  </message>
  <message>
   <source>Everybody brings a little computing; together it trains one model. Potluck is free software under the Apache License 2.0, without any warranty.</source>
   <translation>প্রত্যেকে একটু করে হিসাব করে দেয়; সব মিলে একটি মডেল প্রশিক্ষিত হয়। Potluck মুক্ত সফটওয়্যার, Apache License 2.0-এ, কোনো ওয়ারেন্টি ছাড়া।</translation>
  </message>
  <message>
   <source>Everybody has gone back to it.</source>
   <translation>সবাই সেখানে ফিরে গেছে।</translation>
  </message>
  <message>
   <source>Everything</source>
   <translation>সব</translation>
  </message>
  <message>
   <source>Experts</source>
   <translation>এক্সপার্ট</translation>
  </message>
  <message>
   <source>Experts that li&amp;ve here</source>
   <translation>যেসব এক্সপার্ট এখানে থাকে (&amp;V)</translation>
  </message>
  <message>
   <source>Experts that lived here answered {requests} requests today.</source>
   <translation>এখানে থাকা এক্সপার্ট আজ {requests}টি অনুরোধের উত্তর দিয়েছে।</translation>
  </message>
  <message>
   <source>Fetching the experts that live elsewhere</source>
   <translation>অন্যত্র থাকা এক্সপার্ট আনা হচ্ছে</translation>
  </message>
  <message>
   <source>Files of {name} are missing on this computer.</source>
   <translation>এই কম্পিউটারে {name}-এর কিছু ফাইল নেই।</translation>
  </message>
  <message>
   <source>Files of {name} are missing or damaged on this computer.</source>
   <translation>এই কম্পিউটারে {name}-এর কিছু ফাইল নেই বা নষ্ট।</translation>
  </message>
  <message>
   <source>Fill it on a computer with a connection, or leave --from out.</source>
   <translation>সংযোগ আছে এমন কম্পিউটারে এটি ভরুন, বা --from বাদ দিন।</translation>
  </message>
  <message>
   <source>Finding out which files of {name} are meant took this computer too long or too much memory.</source>
   <translation>{name}-এর কোন ফাইলগুলো বোঝানো হয়েছে তা বের করতে এই কম্পিউটারের খুব বেশি সময় বা মেমরি লেগেছে।</translation>
  </message>
  <message>
   <source>Fingerprint</source>
   <translation>ফিঙ্গারপ্রিন্ট</translation>
  </message>
  <message>
   <source>Fingerprint of its key</source>
   <translation>এর চাবির ফিঙ্গারপ্রিন্ট</translation>
  </message>
  <message>
   <source>Fingerprint of that key</source>
   <translation>সেই চাবির ফিঙ্গারপ্রিন্ট</translation>
  </message>
  <message>
   <source>Finished</source>
   <translation>শেষ হয়েছে</translation>
  </message>
  <message>
   <source>Finished: step {epoch} was the last that was asked for.</source>
   <translation>শেষ: {epoch} ছিল চাওয়া শেষ ধাপ।</translation>
  </message>
  <message>
   <source>Finished: that was the last step that was asked for.</source>
   <translation>শেষ: সেটিই ছিল চাওয়া শেষ ধাপ।</translation>
  </message>
  <message>
   <source>Finished: the model has reached the end of its schedule. Nothing is computed.</source>
   <translation>শেষ: মডেল তার সময়সূচির শেষে পৌঁছেছে। আর কিছু হিসাব হয় না।</translation>
  </message>
  <message>
   <source>Finished: with step {epoch} the collaboration has reached the end of its schedule. Nothing is computed.</source>
   <translation>শেষ: {epoch} নম্বর ধাপে প্রকল্প তার সময়সূচির শেষে পৌঁছেছে। আর কিছু হিসাব হয় না।</translation>
  </message>
  <message>
   <source>First contribution</source>
   <translation>প্রথম অবদান</translation>
  </message>
  <message>
   <source>Folder of texts</source>
   <translation>লেখার ফোল্ডার</translation>
  </message>
  <message>
   <source>For 7 days nobody who lets people into {name} has answered, and the moderators have said nothing new. Anybody who took part can go on from its model: potluck found --go-on "{name}"</source>
   <translation>7 দিন ধরে {name}-এ ঢুকতে দেয় এমন কেউ উত্তর দেয়নি, মডারেটররাও নতুন কিছু বলেননি। যাঁরা অংশ নিয়েছেন তাঁদের যে কেউ এর মডেল থেকে এগিয়ে চলতে পারেন: potluck found --go-on "{name}"</translation>
  </message>
  <message>
   <source>For a computer that starts without anybody, keep the key in a file: potluck startup engine --key-in-file</source>
   <translation>কেউ না থাকলেও যে কম্পিউটার চালু হয় তার চাবি ফাইলে রাখুন: potluck startup engine --key-in-file</translation>
  </message>
  <message>
   <source>For a whole day write 00:00-24:00.</source>
   <translation>পুরো দিনের জন্য 00:00-24:00 লিখুন।</translation>
  </message>
  <message>
   <source>For example: --database postgresql://potluck@localhost/potluck</source>
   <translation>যেমন: --database postgresql://potluck@localhost/potluck</translation>
  </message>
  <message>
   <source>For example: potluck try "Once upon a time"</source>
   <translation>যেমন: potluck try "Once upon a time"</translation>
  </message>
  <message>
   <source>For example: potluck try "People bring their ___ computers"</source>
   <translation>যেমন: potluck try "People bring their ___ computers"</translation>
  </message>
  <message>
   <source>For {seconds} s the computers have not managed to put their work together ({times} attempts). They go on trying.</source>
   <translation>{seconds} s ধরে কম্পিউটারগুলো তাদের কাজ এক করতে পারেনি ({times} বার চেষ্টা)। চেষ্টা চলছে।</translation>
  </message>
  <message>
   <source>Found a collaboration that goes on.</source>
   <translation>এগিয়ে চলে এমন একটি প্রকল্প শুরু করুন।</translation>
  </message>
  <message>
   <source>Found a new one: potluck found --help</source>
   <translation>নতুন একটি শুরু করুন: potluck found --help</translation>
  </message>
  <message>
   <source>Free some space where {folder} lies, then try again: what is here already is kept.</source>
   <translation>{folder} যেখানে আছে সেখানে জায়গা খালি করুন, তারপর আবার চেষ্টা করুন: যা এসে গেছে তা থাকে।</translation>
  </message>
  <message>
   <source>Free some space.</source>
   <translation>কিছু জায়গা খালি করুন।</translation>
  </message>
  <message>
   <source>Free some space: {needed} GB are needed.</source>
   <translation>কিছু জায়গা খালি করুন: {needed} GB লাগবে।</translation>
  </message>
  <message>
   <source>Friday</source>
   <translation>শুক্রবার</translation>
  </message>
  <message>
   <source>Friends can come in from anywhere: your router leads them here. Your provider may change the address; then make a new link.</source>
   <translation>বন্ধুরা যেকোনো জায়গা থেকে আসতে পারেন: আপনার রাউটার তাঁদের এখানে আনে। ইন্টারনেট প্রদানকারী ঠিকানা বদলাতে পারে; তখন নতুন লিংক বানান।</translation>
  </message>
  <message>
   <source>From a &amp;folder…</source>
   <translation>একটি ফোল্ডার থেকে (&amp;F)…</translation>
  </message>
  <message>
   <source>From which text</source>
   <translation>কোন লেখা থেকে</translation>
  </message>
  <message>
   <source>From {start} to {end} is zero minutes.</source>
   <translation>{start} থেকে {end} শূন্য মিনিট।</translation>
  </message>
  <message>
   <source>GB</source>
   <translation>GB</translation>
  </message>
  <message>
   <source>Get another build: potluck training-part</source>
   <translation>অন্য সংস্করণ আনুন: potluck training-part</translation>
  </message>
  <message>
   <source>Get another build: potluck training-part get --build cpu</source>
   <translation>অন্য সংস্করণ আনুন: potluck training-part get --build cpu</translation>
  </message>
  <message>
   <source>Get it again from where it was made public.</source>
   <translation>যেখানে প্রকাশ করা হয়েছিল সেখান থেকে আবার আনুন।</translation>
  </message>
  <message>
   <source>Get it from where newer versions are.</source>
   <translation>নতুনতর সংস্করণ যেখানে আছে সেখান থেকে আনুন।</translation>
  </message>
  <message>
   <source>Get it in the window, or with: potluck training-part get</source>
   <translation>জানালা থেকে আনুন, বা এভাবে: potluck training-part get</translation>
  </message>
  <message>
   <source>Get it with: potluck training-part get</source>
   <translation>এভাবে আনুন: potluck training-part get</translation>
  </message>
  <message>
   <source>Get the training part…</source>
   <translation>প্রশিক্ষণ অংশ আনুন…</translation>
  </message>
  <message>
   <source>Getting everything ready…</source>
   <translation>সব প্রস্তুত হচ্ছে…</translation>
  </message>
  <message>
   <source>Getting started</source>
   <translation>শুরু</translation>
  </message>
  <message>
   <source>Give a JSON object, such as {"key": "...", "secret": "..."}.</source>
   <translation>একটি JSON অবজেক্ট দিন, যেমন {"key": "...", "secret": "..."}।</translation>
  </message>
  <message>
   <source>Give a folder with more files of text, for whole files are kept to measure with; half a million characters is a good beginning.</source>
   <translation>আরও লেখার ফাইল আছে এমন ফোল্ডার দিন, কারণ মাপার জন্য গোটা ফাইল রাখা হয়; পাঁচ লাখ অক্ষর ভালো শুরু।</translation>
  </message>
  <message>
   <source>Give a key. {advice}</source>
   <translation>একটি চাবি দিন। {advice}</translation>
  </message>
  <message>
   <source>Give a name as the leaderboard has it, or a key.</source>
   <translation>লিডারবোর্ডে যেমন আছে তেমন নাম, বা একটি চাবি দিন।</translation>
  </message>
  <message>
   <source>Give a name of the leaderboard, or a key.</source>
   <translation>লিডারবোর্ডের একটি নাম, বা একটি চাবি দিন।</translation>
  </message>
  <message>
   <source>Give a sentence or two.</source>
   <translation>দু-একটি বাক্য দিন।</translation>
  </message>
  <message>
   <source>Give an address that begins with https://, or a file.</source>
   <translation>https:// দিয়ে শুরু ঠিকানা, বা একটি ফাইল দিন।</translation>
  </message>
  <message>
   <source>Give it as one line.</source>
   <translation>এক লাইনে দিন।</translation>
  </message>
  <message>
   <source>Give it as to ssh: user@host</source>
   <translation>ssh-এর মতো করে দিন: user@host</translation>
  </message>
  <message>
   <source>Give it in UTF-8.</source>
   <translation>UTF-8-এ দিন।</translation>
  </message>
  <message>
   <source>Give its words with --words.</source>
   <translation>--words দিয়ে এর শব্দগুলো দিন।</translation>
  </message>
  <message>
   <source>Give more text.</source>
   <translation>আরও লেখা দিন।</translation>
  </message>
  <message>
   <source>Give more text; a few million characters are a beginning.</source>
   <translation>আরও লেখা দিন; কয়েক লাখ অক্ষর দিয়ে শুরু করা যায়।</translation>
  </message>
  <message>
   <source>Give name and password in HTTPS_PROXY, as in http://NAME:PASSWORD@HOST:PORT</source>
   <translation>HTTPS_PROXY-তে নাম ও পাসওয়ার্ড দিন, যেমন http://NAME:PASSWORD@HOST:PORT</translation>
  </message>
  <message>
   <source>Give text in which more words differ.</source>
   <translation>আরও বেশি ভিন্ন শব্দ আছে এমন লেখা দিন।</translation>
  </message>
  <message>
   <source>Give the command again when nobody writes there any more.</source>
   <translation>সেখানে আর কেউ না লিখলে কমান্ডটি আবার দিন।</translation>
  </message>
  <message>
   <source>Give the key of the one at which they moderate: potluck account</source>
   <translation>যেখানে তাঁরা মডারেটর সেখানকার চাবি দিন: potluck account</translation>
  </message>
  <message>
   <source>Give the path of a folder with text files, or an address of some.</source>
   <translation>লেখার ফাইলের ফোল্ডারের পথ, বা কয়েকটি ঠিকানা দিন।</translation>
  </message>
  <message>
   <source>Give the whole link of the other one: potluck://...</source>
   <translation>অন্যটির পুরো লিংক (potluck://...) দিন।</translation>
  </message>
  <message>
   <source>Give yourself the right to read it, or other credentials.</source>
   <translation>নিজেকে এটি পড়ার অধিকার, বা অন্য পরিচয়পত্র দিন।</translation>
  </message>
  <message>
   <source>Go back</source>
   <translation>ফিরে যান</translation>
  </message>
  <message>
   <source>Go back…</source>
   <translation>ফিরে যান…</translation>
  </message>
  <message>
   <source>Go on from another member's computer.</source>
   <translation>অন্য সদস্যের কম্পিউটার থেকে এগিয়ে চলুন।</translation>
  </message>
  <message>
   <source>Goes on from</source>
   <translation>যা থেকে এগিয়ে চলে</translation>
  </message>
  <message>
   <source>Graphics card</source>
   <translation>গ্রাফিক্স কার্ড</translation>
  </message>
  <message>
   <source>Graphics card of AMD (ROCm {version})</source>
   <translation>AMD-র গ্রাফিক্স কার্ড (ROCm {version})</translation>
  </message>
  <message>
   <source>Graphics card of NVIDIA (CUDA {version})</source>
   <translation>NVIDIA-র গ্রাফিক্স কার্ড (CUDA {version})</translation>
  </message>
  <message>
   <source>Graphics card {name}</source>
   <translation>গ্রাফিক্স কার্ড {name}</translation>
  </message>
  <message>
   <source>Half of what is free</source>
   <translation>যা খালি তার অর্ধেক</translation>
  </message>
  <message>
   <source>Hand out its link, or stop it and start again.</source>
   <translation>এর লিংক দিন, বা থামিয়ে আবার চালু করুন।</translation>
  </message>
  <message>
   <source>Have Potluck keep its things on a drive of this computer: set POTLUCK_HOME.</source>
   <translation>Potluck-এর জিনিস এই কম্পিউটারের কোনো ড্রাইভে রাখুন: POTLUCK_HOME ঠিক করে দিন।</translation>
  </message>
  <message>
   <source>Have it make another key.</source>
   <translation>একে দিয়ে আরেকটি চাবি বানান।</translation>
  </message>
  <message>
   <source>Heat and noise</source>
   <translation>তাপ ও শব্দ</translation>
  </message>
  <message>
   <source>Heat and price</source>
   <translation>তাপ ও দাম</translation>
  </message>
  <message>
   <source>Held-out loss</source>
   <translation>যাচাইয়ের লস</translation>
  </message>
  <message>
   <source>Held-out loss at step {epoch}: {loss}.</source>
   <translation>{epoch} ধাপে যাচাইয়ের লস: {loss}।</translation>
  </message>
  <message>
   <source>Helped to average</source>
   <translation>গড় করতে সাহায্য করেছে</translation>
  </message>
  <message>
   <source>Helper</source>
   <translation>সহায়ক</translation>
  </message>
  <message>
   <source>Helping</source>
   <translation>সহায়তায়</translation>
  </message>
  <message>
   <source>Helping: this computer averages what the others have trained, and trains nothing itself.</source>
   <translation>সাহায্য করছে: এই কম্পিউটার অন্যদের প্রশিক্ষণের গড় করে, নিজে কিছু প্রশিক্ষণ দেয় না।</translation>
  </message>
  <message>
   <source>Helps to average. To train, it needs the training part of Potluck.</source>
   <translation>গড় করতে সাহায্য করে। প্রশিক্ষণের জন্য Potluck-এর প্রশিক্ষণ অংশ লাগবে।</translation>
  </message>
  <message>
   <source>Helps to average: this line is too slow for its own gradients.</source>
   <translation>গড় করতে সাহায্য করে: এই সংযোগ নিজের গ্রেডিয়েন্টের জন্য খুব ধীর।</translation>
  </message>
  <message>
   <source>Holds for too long.</source>
   <translation>খুব বেশি দিন খাটে।</translation>
  </message>
  <message>
   <source>Hosting one expert: {requests} requests answered today.</source>
   <translation>একটি এক্সপার্ট রাখা আছে: আজ {requests}টি অনুরোধের উত্তর দেওয়া হয়েছে।</translation>
  </message>
  <message>
   <source>Hosting stopped: {why}.</source>
   <translation>এক্সপার্ট রাখা থেমে গেছে: {why}।</translation>
  </message>
  <message>
   <source>Hosting {experts} experts: {requests} requests answered today.</source>
   <translation>{experts}টি এক্সপার্ট রাখা আছে: আজ {requests}টি অনুরোধের উত্তর দেওয়া হয়েছে।</translation>
  </message>
  <message>
   <source>Hours</source>
   <translation>সময়</translation>
  </message>
  <message>
   <source>Hours of the week</source>
   <translation>সপ্তাহের সময়</translation>
  </message>
  <message>
   <source>How much may it take? A button fills in the rules; Save keeps them.</source>
   <translation>এটি কতটা নিতে পারে? একটি বোতাম নিয়মগুলো ভরে দেয়; সংরক্ষণ সেগুলো রাখে।</translation>
  </message>
  <message>
   <source>How others can reach this computer is not known yet.</source>
   <translation>অন্যরা এই কম্পিউটারে কীভাবে পৌঁছায় তা এখনও জানা নেই।</translation>
  </message>
  <message>
   <source>How others reach it</source>
   <translation>অন্যরা কীভাবে পৌঁছায়</translation>
  </message>
  <message>
   <source>How the others see &amp;you</source>
   <translation>অন্যরা আপনাকে যেভাবে দেখে (&amp;Y)</translation>
  </message>
  <message>
   <source>How these shards were cut is not known: {address} has no {journal_file} that fits the index.</source>
   <translation>এই খণ্ডগুলো কীভাবে কাটা হয়েছে জানা নেই: {address}-এ সূচির সঙ্গে মেলে এমন {journal_file} নেই।</translation>
  </message>
  <message>
   <source>I have a link</source>
   <translation>আমার কাছে লিংক আছে</translation>
  </message>
  <message>
   <source>If Potluck was removed or moved, install it again.</source>
   <translation>Potluck সরানো বা মুছে ফেলা হয়ে থাকলে আবার ইনস্টল করুন।</translation>
  </message>
  <message>
   <source>If a name or another address leads here, the link begins with it. Without one, leave it empty.</source>
   <translation>কোনো নাম বা অন্য ঠিকানা এখানে আনলে লিংক তা দিয়ে শুরু হয়। না থাকলে খালি রাখুন।</translation>
  </message>
  <message>
   <source>If an authority of your own has signed it, name that authority's file in SSL_CERT_FILE.</source>
   <translation>আপনার নিজের কর্তৃপক্ষ এতে সই করে থাকলে SSL_CERT_FILE-এ সেই কর্তৃপক্ষের ফাইলের নাম দিন।</translation>
  </message>
  <message>
   <source>If that was not you, sign in again, and compare the code.</source>
   <translation>যদি আপনি না হয়ে থাকেন, আবার সাইন ইন করে কোড মিলিয়ে দেখুন।</translation>
  </message>
  <message>
   <source>If you trust its organiser, allow it with --text and the folder's name.</source>
   <translation>আয়োজককে বিশ্বাস করলে --text ও ফোল্ডারের নাম দিয়ে অনুমতি দিন।</translation>
  </message>
  <message>
   <source>In a &amp;month</source>
   <translation>এক মাসে (&amp;M)</translation>
  </message>
  <message>
   <source>In all</source>
   <translation>মোট</translation>
  </message>
  <message>
   <source>In order</source>
   <translation>ঠিক আছে</translation>
  </message>
  <message>
   <source>In step {epoch} this computer's gradients were far larger than those of the others, and were scaled down. If it goes on, restart Potluck, and check this computer's memory and graphics card.</source>
   <translation>{epoch} নম্বর ধাপে এই কম্পিউটারের গ্রেডিয়েন্ট অন্যদের চেয়ে অনেক বড় ছিল, তাই ছোট করা হয়েছে। চলতে থাকলে Potluck আবার চালু করুন, আর এই কম্পিউটারের মেমরি ও গ্রাফিক্স কার্ড পরীক্ষা করুন।</translation>
  </message>
  <message>
   <source>In the settings, on the page This computer, turn off what starts at login. Quit Potluck, then delete {place}.</source>
   <translation>সেটিংসে “এই কম্পিউটার” পাতায় লগইনের সময় যা চালু হয় তা বন্ধ করুন। Potluck বন্ধ করুন, তারপর {place} মুছে দিন।</translation>
  </message>
  <message>
   <source>In the week from {day} this computer gave {duration} on {days}, and {samples} samples went into steps of the model.</source>
   <translation>{day} থেকে সপ্তাহটিতে এই কম্পিউটার {days} {duration} দিয়েছে, আর {samples}টি নমুনা মডেলের ধাপে গেছে।</translation>
  </message>
  <message>
   <source>In this collaboration this computer is called {name}.</source>
   <translation>এই প্রকল্পে এই কম্পিউটারের নাম {name}।</translation>
  </message>
  <message>
   <source>Install OpenSSH's client.</source>
   <translation>OpenSSH-এর ক্লায়েন্ট ইনস্টল করুন।</translation>
  </message>
  <message>
   <source>Install Potluck again, or pip beside it.</source>
   <translation>Potluck আবার ইনস্টল করুন, বা তার পাশে pip।</translation>
  </message>
  <message>
   <source>Install it where Potluck is: pip install {package}</source>
   <translation>Potluck যেখানে আছে সেখানে ইনস্টল করুন: pip install {package}</translation>
  </message>
  <message>
   <source>Install it with: pip install "potluck[app]" - or use a command, see: potluck --help</source>
   <translation>এভাবে ইনস্টল করুন: pip install "potluck[app]" - বা কমান্ড দিন, দেখুন: potluck --help</translation>
  </message>
  <message>
   <source>Install it with: pip install tensorboard</source>
   <translation>এভাবে ইনস্টল করুন: pip install tensorboard</translation>
  </message>
  <message>
   <source>Install it: pip install "potluck[organiser]"</source>
   <translation>এভাবে ইনস্টল করুন: pip install "potluck[organiser]"</translation>
  </message>
  <message>
   <source>Intel's graphics</source>
   <translation>Intel-এর গ্রাফিক্স</translation>
  </message>
  <message>
   <source>Invite somebody</source>
   <translation>কাউকে আমন্ত্রণ জানান</translation>
  </message>
  <message>
   <source>Invite somebody to {name}</source>
   <translation>{name}-এ কাউকে আমন্ত্রণ জানান</translation>
  </message>
  <message>
   <source>Invite somebody…</source>
   <translation>কাউকে আমন্ত্রণ জানান…</translation>
  </message>
  <message>
   <source>Is another version running there?</source>
   <translation>সেখানে কি অন্য সংস্করণ চলছে?</translation>
  </message>
  <message>
   <source>Is everything here that Potluck needs?</source>
   <translation>Potluck-এর যা লাগে সব কি এখানে আছে?</translation>
  </message>
  <message>
   <source>It &amp;lasts</source>
   <translation>মেয়াদ (&amp;L)</translation>
  </message>
  <message>
   <source>It arrived too late or not at all: the round went on without it. The connection may be slow.</source>
   <translation>এটি খুব দেরিতে এসেছে বা আসেইনি: রাউন্ড এটি ছাড়াই এগিয়েছে। সংযোগ হয়তো ধীর।</translation>
  </message>
  <message>
   <source>It begins with the first step.</source>
   <translation>প্রথম ধাপ থেকে এটি শুরু হয়।</translation>
  </message>
  <message>
   <source>It computes</source>
   <translation>হিসাব চলে</translation>
  </message>
  <message>
   <source>It could not be found out. Name an address, or look again.</source>
   <translation>তা জানা যায়নি। একটি ঠিকানা দিন, বা আবার দেখুন।</translation>
  </message>
  <message>
   <source>It does not cost by the megabyte.</source>
   <translation>মেগাবাইট গুনে খরচ হয় না।</translation>
  </message>
  <message>
   <source>It fills with the first step of the model.</source>
   <translation>মডেলের প্রথম ধাপ থেকে এটি ভরতে থাকে।</translation>
  </message>
  <message>
   <source>It gets no pass any more. It comes in again when you sign in there, or by a new link of yours.</source>
   <translation>এটি আর পাস পায় না। আপনি সেখানে সাইন ইন করলে, বা আপনার নতুন লিংকে, আবার ঢুকতে পারে।</translation>
  </message>
  <message>
   <source>It gets no pass any more; the one that it has holds for up to 4 days.</source>
   <translation>এটি আর পাস পায় না; যেটি আছে তা বড়জোর 4 দিন খাটে।</translation>
  </message>
  <message>
   <source>It gets {right} {guesses} right, in examples that it has never seen.</source>
   <translation>যে উদাহরণ কখনও দেখেনি তাতে {right} {guesses} ঠিক বলে।</translation>
  </message>
  <message>
   <source>It goes on from the model of an earlier collaboration.</source>
   <translation>এটি আগের একটি প্রকল্পের মডেল থেকে এগিয়ে চলে।</translation>
  </message>
  <message>
   <source>It has no collaboration that can be used.</source>
   <translation>এতে ব্যবহার করার মতো কোনো প্রকল্প নেই।</translation>
  </message>
  <message>
   <source>It has {most} bytes.</source>
   <translation>এতে {most} বাইট আছে।</translation>
  </message>
  <message>
   <source>It has {names}: name the right one with --{what} NAME, in a recipe with {what} = "NAME".</source>
   <translation>এতে {names} আছে: --{what} NAME দিয়ে ঠিকটির নাম দিন, রেসিপিতে {what} = "NAME" লিখে।</translation>
  </message>
  <message>
   <source>It is &amp;called</source>
   <translation>নাম (&amp;C)</translation>
  </message>
  <message>
   <source>It is &amp;good for</source>
   <translation>যা কাজে লাগে (&amp;G)</translation>
  </message>
  <message>
   <source>It is damaged.</source>
   <translation>এটি নষ্ট।</translation>
  </message>
  <message>
   <source>It is here now, and Potluck begins to use it.</source>
   <translation>এটি এসে গেছে, Potluck এটি ব্যবহার শুরু করছে।</translation>
  </message>
  <message>
   <source>It is made with other free software: {libraries}.</source>
   <translation>এটি অন্য মুক্ত সফটওয়্যার দিয়ে তৈরি: {libraries}।</translation>
  </message>
  <message>
   <source>It is measured every few steps.</source>
   <translation>কয়েক ধাপ পর পর এটি মাপা হয়।</translation>
  </message>
  <message>
   <source>It is neither paused nor ended.</source>
   <translation>এটি থামানোও নয়, শেষও নয়।</translation>
  </message>
  <message>
   <source>It is not known any more which data were read, so reading begins anew. The damaged file was kept as {name}.</source>
   <translation>কোন ডেটা পড়া হয়েছিল তা আর জানা নেই, তাই নতুন করে পড়া শুরু হচ্ছে। নষ্ট ফাইলটি {name} নামে রাখা হয়েছে।</translation>
  </message>
  <message>
   <source>It is not known yet where its backbone is. Try again once it runs.</source>
   <translation>এর ব্যাকবোন কোথায় এখনও জানা নেই। সেটি চললে আবার চেষ্টা করুন।</translation>
  </message>
  <message>
   <source>It is of another collaboration, or of another key.</source>
   <translation>এটি অন্য প্রকল্পের, বা অন্য চাবির।</translation>
  </message>
  <message>
   <source>It is served when {name} needs nothing or cannot be reached.</source>
   <translation>{name}-এর যখন কিছু লাগে না বা পৌঁছানো যায় না তখন এর কাজ হয়।</translation>
  </message>
  <message>
   <source>It is started again.</source>
   <translation>এটি আবার চালু হচ্ছে।</translation>
  </message>
  <message>
   <source>It is started again; the log says more.</source>
   <translation>এটি আবার চালু হচ্ছে; লগে আরও লেখা আছে।</translation>
  </message>
  <message>
   <source>It knows: {known}. Correct the recipe, or update Potluck where the collaboration is newer.</source>
   <translation>এটি যা জানে: {known}। রেসিপি ঠিক করুন, বা প্রকল্প নতুনতর হলে Potluck হালনাগাদ করুন।</translation>
  </message>
  <message>
   <source>It lets &amp;in</source>
   <translation>ঢুকতে দেয় (&amp;I)</translation>
  </message>
  <message>
   <source>It lives on this computer only, and ends where you join others.</source>
   <translation>এটি শুধু এই কম্পিউটারে থাকে, আর অন্যদের সঙ্গে যোগ দিলে শেষ হয়।</translation>
  </message>
  <message>
   <source>It must be {allowed}.</source>
   <translation>এটি হতে হবে {allowed}।</translation>
  </message>
  <message>
   <source>It reads folders, and {known}; name one of these.</source>
   <translation>এটি ফোল্ডার ও {known} পড়ে; এগুলোর একটির নাম দিন।</translation>
  </message>
  <message>
   <source>It runs on another computer: end it there, with potluck quit --now</source>
   <translation>এটি অন্য কম্পিউটারে চলছে: সেখানেই শেষ করুন, potluck quit --now দিয়ে</translation>
  </message>
  <message>
   <source>It runs on its battery.</source>
   <translation>এটি ব্যাটারিতে চলছে।</translation>
  </message>
  <message>
   <source>It runs on mains.</source>
   <translation>এটি বিদ্যুৎ সংযোগে চলছে।</translation>
  </message>
  <message>
   <source>It runs, but does not let this program in: engine.json has changed. Whether it computes is not known.</source>
   <translation>এটি চলছে, কিন্তু এই প্রোগ্রামকে ঢুকতে দেয় না: engine.json বদলেছে। হিসাব করছে কি না জানা নেই।</translation>
  </message>
  <message>
   <source>It runs, but says nothing: whether it computes is not known.</source>
   <translation>এটি চলছে, কিন্তু কিছু বলছে না: হিসাব করছে কি না জানা নেই।</translation>
  </message>
  <message>
   <source>It takes</source>
   <translation>যা লাগে</translation>
  </message>
  <message>
   <source>It takes volunteers outside of this network to find out.</source>
   <translation>তা জানতে এই নেটওয়ার্কের বাইরের স্বেচ্ছাসেবক লাগে।</translation>
  </message>
  <message>
   <source>It was averaged, but nobody else has signed that, which proves nothing to others.</source>
   <translation>এর গড় হয়েছে, কিন্তু আর কেউ তাতে সই করেনি, তাই অন্যদের কাছে কিছু প্রমাণ হয় না।</translation>
  </message>
  <message>
   <source>It was fetched before everybody went back to an earlier one.</source>
   <translation>সবাই আগের একটিতে ফেরার আগে এটি আনা হয়েছিল।</translation>
  </message>
  <message>
   <source>It was kept as {name}. Start Potluck again to begin a new collaboration.</source>
   <translation>এটি {name} নামে রাখা হয়েছে। নতুন প্রকল্প শুরু করতে Potluck আবার চালু করুন।</translation>
  </message>
  <message>
   <source>It was kept as {name}; start again for a new one.</source>
   <translation>এটি {name} নামে রাখা হয়েছে; নতুন একটির জন্য আবার চালু করুন।</translation>
  </message>
  <message>
   <source>It was not installed.</source>
   <translation>এটি ইনস্টল হয়নি।</translation>
  </message>
  <message>
   <source>It was not kept: you have two newer proposals open, or something else was decided.</source>
   <translation>এটি রাখা হয়নি: আপনার নতুন দুটি প্রস্তাব খোলা আছে, বা অন্য সিদ্ধান্ত হয়ে গেছে।</translation>
  </message>
  <message>
   <source>It works well as it is. Connections would start a little faster with</source>
   <translation>যেমন আছে তেমনই ভালো চলে। সংযোগ একটু দ্রুত শুরু হতো এভাবে:</translation>
  </message>
  <message>
   <source>It works well as it is. With UPnP in the router, connections would start a little faster.</source>
   <translation>যেমন আছে তেমনই ভালো চলে। রাউটারে UPnP থাকলে সংযোগ একটু দ্রুত শুরু হতো।</translation>
  </message>
  <message>
   <source>Its &amp;licence</source>
   <translation>এর লাইসেন্স (&amp;L)</translation>
  </message>
  <message>
   <source>Its icon beside the clock brings the window back.</source>
   <translation>ঘড়ির পাশের আইকন জানালা ফিরিয়ে আনে।</translation>
  </message>
  <message>
   <source>Its keys lie in {folder}. Keep a copy of that folder: without them nobody can be let in any more.</source>
   <translation>এর চাবিগুলো {folder}-এ আছে। সেই ফোল্ডারের একটি কপি রাখুন: সেগুলো ছাড়া আর কাউকে ঢুকতে দেওয়া যাবে না।</translation>
  </message>
  <message>
   <source>Its learning rate may be too high.</source>
   <translation>এর শেখার হার হয়তো খুব বেশি।</translation>
  </message>
  <message>
   <source>Its lines begin with: Public key</source>
   <translation>এর লাইন শুরু হয় এভাবে: Public key</translation>
  </message>
  <message>
   <source>Its link is forgotten then, its files stay.</source>
   <translation>তখন এর লিংক ভুলে যাওয়া হয়, ফাইলগুলো থাকে।</translation>
  </message>
  <message>
   <source>Its moderators let nobody new in.</source>
   <translation>এর মডারেটররা নতুন কাউকে ঢুকতে দেন না।</translation>
  </message>
  <message>
   <source>Its name</source>
   <translation>এর নাম</translation>
  </message>
  <message>
   <source>Its numbers are not finite.</source>
   <translation>এর সংখ্যাগুলো সসীম নয়।</translation>
  </message>
  <message>
   <source>Its organiser starts it with --site, and writes its address into ways.toml.</source>
   <translation>আয়োজক --site দিয়ে এটি চালু করেন, আর এর ঠিকানা ways.toml-এ লেখেন।</translation>
  </message>
  <message>
   <source>Join a collaboration</source>
   <translation>একটি প্রকল্পে যোগ দিন</translation>
  </message>
  <message>
   <source>Join again to fetch it anew.</source>
   <translation>নতুন করে আনতে আবার যোগ দিন।</translation>
  </message>
  <message>
   <source>Join again with the organiser's link.</source>
   <translation>আয়োজকের লিংক দিয়ে আবার যোগ দিন।</translation>
  </message>
  <message>
   <source>Join again.</source>
   <translation>আবার যোগ দিন।</translation>
  </message>
  <message>
   <source>Join another…</source>
   <translation>আরেকটিতে যোগ দিন…</translation>
  </message>
  <message>
   <source>Join one with its link: in the window, or with potluck join LINK. Alone: potluck demo --headless</source>
   <translation>লিংক দিয়ে একটিতে যোগ দিন: জানালায়, বা potluck join LINK দিয়ে। একা: potluck demo --headless</translation>
  </message>
  <message>
   <source>Join one with: potluck join LINK</source>
   <translation>এভাবে একটিতে যোগ দিন: potluck join LINK</translation>
  </message>
  <message>
   <source>Join the collaboration again.</source>
   <translation>প্রকল্পে আবার যোগ দিন।</translation>
  </message>
  <message>
   <source>Joining</source>
   <translation>যোগ দিচ্ছে</translation>
  </message>
  <message>
   <source>Joining the collaboration.</source>
   <translation>প্রকল্পে যোগ দিচ্ছে।</translation>
  </message>
  <message>
   <source>Joining…</source>
   <translation>যোগ দিচ্ছে…</translation>
  </message>
  <message>
   <source>Known after the start only: {unknown}.</source>
   <translation>শুরুর পরেই শুধু জানা যায়: {unknown}।</translation>
  </message>
  <message>
   <source>Known after the start; nothing has to be set up for that.</source>
   <translation>শুরুর পরে জানা যায়; তার জন্য কিছু ঠিক করতে হয় না।</translation>
  </message>
  <message>
   <source>La&amp;nguage</source>
   <translation>ভাষা (&amp;N)</translation>
  </message>
  <message>
   <source>Large models need more; POTLUCK_HOME can name a folder on another disk.</source>
   <translation>বড় মডেলের আরও লাগে; POTLUCK_HOME দিয়ে অন্য ডিস্কের ফোল্ডারের নাম দেওয়া যায়।</translation>
  </message>
  <message>
   <source>Last 7 days</source>
   <translation>গত 7 দিন</translation>
  </message>
  <message>
   <source>Layer {layer} has no expert at all, so nothing comes through the model.</source>
   <translation>{layer} স্তরে কোনো এক্সপার্টই নেই, তাই মডেলের মধ্য দিয়ে কিছু যায় না।</translation>
  </message>
  <message>
   <source>Layers are compiled only where a single device trains.</source>
   <translation>একটিমাত্র যন্ত্র প্রশিক্ষণ দিলেই শুধু স্তর কম্পাইল করা হয়।</translation>
  </message>
  <message>
   <source>Lea&amp;ve it</source>
   <translation>ছেড়ে যান (&amp;V)</translation>
  </message>
  <message>
   <source>Leaderboard</source>
   <translation>লিডারবোর্ড</translation>
  </message>
  <message>
   <source>Leave --device out.</source>
   <translation>--device বাদ দিন।</translation>
  </message>
  <message>
   <source>Leave at least one hour, or pause Potluck with its switch.</source>
   <translation>অন্তত এক ঘণ্টা রাখুন, বা সুইচ দিয়ে Potluck থামান।</translation>
  </message>
  <message>
   <source>Leave it</source>
   <translation>ছেড়ে যান</translation>
  </message>
  <message>
   <source>Leave it out for a language that is not among them.</source>
   <translation>ভাষাটি এগুলোর মধ্যে না থাকলে বাদ দিন।</translation>
  </message>
  <message>
   <source>Leave it out.</source>
   <translation>এটি বাদ দিন।</translation>
  </message>
  <message>
   <source>Leave it out: it is damaged, or made to do harm.</source>
   <translation>এটি বাদ দিন: নষ্ট, বা ক্ষতি করার জন্য বানানো।</translation>
  </message>
  <message>
   <source>Leave one of them out.</source>
   <translation>একটি বাদ দিন।</translation>
  </message>
  <message>
   <source>Leave the comma out. {advice}</source>
   <translation>কমাটি বাদ দিন। {advice}</translation>
  </message>
  <message>
   <source>Leave the others out.</source>
   <translation>অন্যগুলো বাদ দিন।</translation>
  </message>
  <message>
   <source>Leave the table [experts] out.</source>
   <translation>[experts] সারণিটি বাদ দিন।</translation>
  </message>
  <message>
   <source>Leave this collaboration?</source>
   <translation>এই প্রকল্প ছেড়ে যাবেন?</translation>
  </message>
  <message>
   <source>Leave tokenizer out of the recipe.</source>
   <translation>রেসিপি থেকে tokenizer বাদ দিন।</translation>
  </message>
  <message>
   <source>Leave tokenizer out.</source>
   <translation>tokenizer বাদ দিন।</translation>
  </message>
  <message>
   <source>Leave words out that are far from the blanks.</source>
   <translation>শূন্যস্থান থেকে দূরের শব্দ বাদ দিন।</translation>
  </message>
  <message>
   <source>Leave {collaboration}?</source>
   <translation>{collaboration} ছেড়ে যাবেন?</translation>
  </message>
  <message>
   <source>Leave…</source>
   <translation>ছেড়ে যান…</translation>
  </message>
  <message>
   <source>Left</source>
   <translation>ছেড়ে গেছেন</translation>
  </message>
  <message>
   <source>Left out of the data for now: {name}, for which the server gave something else.</source>
   <translation>আপাতত ডেটা থেকে বাদ: {name}, সার্ভার এর বদলে অন্য কিছু দিয়েছে।</translation>
  </message>
  <message>
   <source>Left out of the data for now: {name}, which could not be read to its end.</source>
   <translation>আপাতত ডেটা থেকে বাদ: {name}, শেষ পর্যন্ত পড়া যায়নি।</translation>
  </message>
  <message>
   <source>Left out of the data: the files from {name} on, since there are too many.</source>
   <translation>ডেটা থেকে বাদ: {name} থেকে পরের ফাইলগুলো, কারণ ফাইল খুব বেশি।</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, a link that leads in a circle, to a folder or out of this one.</source>
   <translation>ডেটা থেকে বাদ: {name}, এই লিংক ঘুরে নিজের কাছে, কোনো ফোল্ডারে বা এর বাইরে যায়।</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which has changed since it was listed.</source>
   <translation>ডেটা থেকে বাদ: {name}, তালিকা হওয়ার পরে বদলে গেছে।</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which has no column of the name that is read.</source>
   <translation>ডেটা থেকে বাদ: {name}, যে কলাম পড়া হয় তা এতে নেই।</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which holds something else than text.</source>
   <translation>ডেটা থেকে বাদ: {name}, এতে লেখা নয়, অন্য কিছু আছে।</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which is damaged.</source>
   <translation>ডেটা থেকে বাদ: {name}, এটি নষ্ট।</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which is not there any more.</source>
   <translation>ডেটা থেকে বাদ: {name}, আর সেখানে নেই।</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which is not what the organiser has signed.</source>
   <translation>ডেটা থেকে বাদ: {name}, আয়োজকের সই করা ফাইল নয়।</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which this computer may not read.</source>
   <translation>ডেটা থেকে বাদ: {name}, এই কম্পিউটারের পড়ার অনুমতি নেই।</translation>
  </message>
  <message>
   <source>Left out of the data: {name}, which unfolds to more memory than any text needs.</source>
   <translation>ডেটা থেকে বাদ: {name}, খুললে এত মেমরি লাগে যা কোনো লেখার দরকার হয় না।</translation>
  </message>
  <message>
   <source>Left out of the data: {name}.</source>
   <translation>ডেটা থেকে বাদ: {name}।</translation>
  </message>
  <message>
   <source>Let Potluck train until a step has been taken, then try again.</source>
   <translation>একটি ধাপ শেষ হওয়া পর্যন্ত Potluck-কে প্রশিক্ষণ দিতে দিন, তারপর আবার চেষ্টা করুন।</translation>
  </message>
  <message>
   <source>Let what writes there come to its end, then cut them again, into an empty folder.</source>
   <translation>সেখানে যা লিখছে তা শেষ হতে দিন, তারপর খালি ফোল্ডারে আবার কাটুন।</translation>
  </message>
  <message>
   <source>Let {closed} through at the same port: in the router's rule, or in the firewall of this computer.</source>
   <translation>একই পোর্টে {closed} আসতে দিন: রাউটারের নিয়মে, বা এই কম্পিউটারের ফায়ারওয়ালে।</translation>
  </message>
  <message>
   <source>Licence and credit</source>
   <translation>লাইসেন্স ও কৃতিত্ব</translation>
  </message>
  <message>
   <source>Like the &amp;system</source>
   <translation>সিস্টেমের মতো (&amp;S)</translation>
  </message>
  <message>
   <source>Link</source>
   <translation>লিংক</translation>
  </message>
  <message>
   <source>Link to hand on</source>
   <translation>দেওয়ার জন্য লিংক</translation>
  </message>
  <message>
   <source>List all with: potluck invite --list --charter {folder}</source>
   <translation>সবগুলো দেখতে: potluck invite --list --charter {folder}</translation>
  </message>
  <message>
   <source>List people with: potluck people</source>
   <translation>মানুষের তালিকা দেখতে: potluck people</translation>
  </message>
  <message>
   <source>List them with: potluck account</source>
   <translation>তালিকা দেখতে: potluck account</translation>
  </message>
  <message>
   <source>List them with: potluck copies</source>
   <translation>তালিকা দেখতে: potluck copies</translation>
  </message>
  <message>
   <source>List them with: potluck copies --charter DIR</source>
   <translation>তালিকা দেখতে: potluck copies --charter DIR</translation>
  </message>
  <message>
   <source>List them with: potluck moderate</source>
   <translation>তালিকা দেখতে: potluck moderate</translation>
  </message>
  <message>
   <source>List them with: potluck moderate copies</source>
   <translation>তালিকা দেখতে: potluck moderate copies</translation>
  </message>
  <message>
   <source>List them with: potluck requests</source>
   <translation>তালিকা দেখতে: potluck requests</translation>
  </message>
  <message>
   <source>List those that hold with: {listing}</source>
   <translation>যেগুলো খাটে তার তালিকা দেখতে: {listing}</translation>
  </message>
  <message>
   <source>Loading the model</source>
   <translation>মডেল লোড হচ্ছে</translation>
  </message>
  <message>
   <source>Local steps cannot go on while a round is averaged, as this collaboration's manifest wants.</source>
   <translation>এই প্রকল্পের ম্যানিফেস্ট যেমন চায়, একটি রাউন্ডের গড় হওয়ার সময় স্থানীয় ধাপ চলতে পারে না।</translation>
  </message>
  <message>
   <source>Look aroun&amp;d…</source>
   <translation>ঘুরে দেখুন (&amp;D)…</translation>
  </message>
  <message>
   <source>Look around</source>
   <translation>ঘুরে দেখুন</translation>
  </message>
  <message>
   <source>Look at it</source>
   <translation>এটি দেখুন</translation>
  </message>
  <message>
   <source>Look at the lines above.</source>
   <translation>উপরের লাইনগুলো দেখুন।</translation>
  </message>
  <message>
   <source>Look at the one that goes on…</source>
   <translation>যেটি এগিয়ে চলে সেটি দেখুন…</translation>
  </message>
  <message>
   <source>Look at what ssh says.</source>
   <translation>ssh কী বলে দেখুন।</translation>
  </message>
  <message>
   <source>Look at {name}</source>
   <translation>{name} দেখুন</translation>
  </message>
  <message>
   <source>Look for newer versions once a &amp;day</source>
   <translation>দিনে একবার নতুনতর সংস্করণ খুঁজুন (&amp;D)</translation>
  </message>
  <message>
   <source>Look for one with: potluck update</source>
   <translation>এভাবে খুঁজুন: potluck update</translation>
  </message>
  <message>
   <source>Look into this computer, run programs on it, or have it do more than you allow: your hours and limits are kept by this program alone.</source>
   <translation>এই কম্পিউটারে উঁকি দেওয়া, এতে প্রোগ্রাম চালানো, বা আপনার দেওয়া সীমার বেশি করানো: আপনার সময় ও সীমা শুধু এই প্রোগ্রামই রাখে।</translation>
  </message>
  <message>
   <source>Looked after b&amp;y</source>
   <translation>দেখাশোনায় (&amp;Y)</translation>
  </message>
  <message>
   <source>Looking at this computer's addresses, and asking the router…</source>
   <translation>এই কম্পিউটারের ঠিকানা দেখা হচ্ছে, আর রাউটারকে জিজ্ঞাসা করা হচ্ছে…</translation>
  </message>
  <message>
   <source>Looking at this computer…</source>
   <translation>এই কম্পিউটার দেখা হচ্ছে…</translation>
  </message>
  <message>
   <source>Looking for the others and for the newest state of the model.</source>
   <translation>অন্যদের ও মডেলের সবচেয়ে নতুন অবস্থা খোঁজা হচ্ছে।</translation>
  </message>
  <message>
   <source>Looking where it is…</source>
   <translation>এটি কোথায় আছে দেখা হচ্ছে…</translation>
  </message>
  <message>
   <source>Looking…</source>
   <translation>দেখা হচ্ছে…</translation>
  </message>
  <message>
   <source>Looks at network, clock, disk, devices and more. It takes some seconds.</source>
   <translation>নেটওয়ার্ক, ঘড়ি, ডিস্ক, যন্ত্র ইত্যাদি দেখে। কয়েক সেকেন্ড লাগে।</translation>
  </message>
  <message>
   <source>Lower the threshold, or add moderators first.</source>
   <translation>প্রয়োজনীয় সংখ্যা কমান, বা আগে মডারেটর যোগ করুন।</translation>
  </message>
  <message>
   <source>Make it, or name another file.</source>
   <translation>এটি বানান, বা অন্য ফাইলের নাম দিন।</translation>
  </message>
  <message>
   <source>Make one with the right to write, and set {token}, or keep it: keyring set {service} {entry}</source>
   <translation>লেখার অধিকারসহ একটি বানান আর {token}-এ দিন, বা রেখে দিন: keyring set {service} {entry}</translation>
  </message>
  <message>
   <source>Make one with: potluck backup</source>
   <translation>এভাবে একটি বানান: potluck backup</translation>
  </message>
  <message>
   <source>May Potluck use this computer?</source>
   <translation>Potluck কি এই কম্পিউটার ব্যবহার করতে পারে?</translation>
  </message>
  <message>
   <source>May compute</source>
   <translation>হিসাব করতে পারে</translation>
  </message>
  <message>
   <source>Mbit/s</source>
   <translation>Mbit/s</translation>
  </message>
  <message>
   <source>Measure w&amp;hat the model can do now</source>
   <translation>মডেল এখন কী পারে মাপুন (&amp;H)</translation>
  </message>
  <message>
   <source>Measuring it on text that it never learns from</source>
   <translation>যে লেখা থেকে এটি কখনো শেখে না তাতে মাপা হচ্ছে</translation>
  </message>
  <message>
   <source>Memor&amp;y, at most</source>
   <translation>মেমরি, বড়জোর (&amp;Y)</translation>
  </message>
  <message>
   <source>Memory</source>
   <translation>মেমরি</translation>
  </message>
  <message>
   <source>Memory is kept &amp;for</source>
   <translation>মেমরি রাখা হয় (&amp;F)</translation>
  </message>
  <message>
   <source>Mistakes on what it has never seen</source>
   <translation>যা কখনও দেখেনি তাতে ভুল</translation>
  </message>
  <message>
   <source>Mistakes on what it learns from</source>
   <translation>যা থেকে শেখে তাতে ভুল</translation>
  </message>
  <message>
   <source>Model</source>
   <translation>মডেল</translation>
  </message>
  <message>
   <source>Monday</source>
   <translation>সোমবার</translation>
  </message>
  <message>
   <source>More moderators would have to agree than there are.</source>
   <translation>যতজন মডারেটর আছেন তার চেয়ে বেশি জনকে রাজি হতে হতো।</translation>
  </message>
  <message>
   <source>Most records of {name} cannot be read; the first is {why}.</source>
   <translation>{name}-এর বেশির ভাগ নথি পড়া যায় না; প্রথমটি {why}।</translation>
  </message>
  <message>
   <source>Move it, or give the command in another folder.</source>
   <translation>এটি সরান, বা অন্য ফোল্ডারে কমান্ডটি দিন।</translation>
  </message>
  <message>
   <source>Move those away; or move {index_file} and the shards away, so that the others are cut.</source>
   <translation>সেগুলো সরান; বা {index_file} ও খণ্ডগুলো সরান, যাতে অন্যগুলো কাটা হয়।</translation>
  </message>
  <message>
   <source>My &amp;computer</source>
   <translation>আমার কম্পিউটার (&amp;C)</translation>
  </message>
  <message>
   <source>My &amp;gift</source>
   <translation>আমার অবদান (&amp;G)</translation>
  </message>
  <message>
   <source>My computer</source>
   <translation>আমার কম্পিউটার</translation>
  </message>
  <message>
   <source>My computers</source>
   <translation>আমার কম্পিউটারগুলো</translation>
  </message>
  <message>
   <source>My gift</source>
   <translation>আমার অবদান</translation>
  </message>
  <message>
   <source>N&amp;etwork</source>
   <translation>নেটওয়ার্ক (&amp;E)</translation>
  </message>
  <message>
   <source>Name</source>
   <translation>নাম</translation>
  </message>
  <message>
   <source>Name a file elsewhere.</source>
   <translation>অন্য জায়গার একটি ফাইলের নাম দিন।</translation>
  </message>
  <message>
   <source>Name a file, or one of those that come along: {names}.</source>
   <translation>একটি ফাইলের নাম দিন, বা সঙ্গে আসা এগুলোর একটি: {names}।</translation>
  </message>
  <message>
   <source>Name a file, or one that comes along: {names}.</source>
   <translation>একটি ফাইলের নাম দিন, বা সঙ্গে আসা একটি: {names}।</translation>
  </message>
  <message>
   <source>Name a folder elsewhere.</source>
   <translation>অন্য জায়গার একটি ফোল্ডারের নাম দিন।</translation>
  </message>
  <message>
   <source>Name a folder that holds text files.</source>
   <translation>লেখার ফাইল আছে এমন ফোল্ডারের নাম দিন।</translation>
  </message>
  <message>
   <source>Name a folder with config.json, model.safetensors and tokenizer.json, as save_pretrained writes them.</source>
   <translation>config.json, model.safetensors ও tokenizer.json আছে এমন ফোল্ডারের নাম দিন, save_pretrained যেমন লেখে।</translation>
  </message>
  <message>
   <source>Name a folder, a URL, or hf://datasets/OWNER/NAME; of shards that were cut, the index is enough.</source>
   <translation>একটি ফোল্ডার, একটি URL, বা hf://datasets/OWNER/NAME দিন; কাটা খণ্ডের জন্য সূচিই যথেষ্ট।</translation>
  </message>
  <message>
   <source>Name a folder, a file, a URL, or python-docs.</source>
   <translation>একটি ফোল্ডার, একটি ফাইল, একটি URL, বা python-docs দিন।</translation>
  </message>
  <message>
   <source>Name a folder, or a URL of fsspec.</source>
   <translation>একটি ফোল্ডার, বা fsspec-এর একটি URL দিন।</translation>
  </message>
  <message>
   <source>Name a folder, or an address that fsspec knows.</source>
   <translation>একটি ফোল্ডার, বা fsspec চেনে এমন ঠিকানা দিন।</translation>
  </message>
  <message>
   <source>Name a host such as texts.org, s3://BUCKET, or hub.</source>
   <translation>একটি হোস্টের নাম দিন, যেমন texts.org, s3://BUCKET, বা hub।</translation>
  </message>
  <message>
   <source>Name a server there by its address in numbers, as in http://192.168.1.7/texts.txt</source>
   <translation>সেখানকার সার্ভারের ঠিকানা সংখ্যায় দিন, যেমন http://192.168.1.7/texts.txt</translation>
  </message>
  <message>
   <source>Name an address that begins with http://, or a file or program with its folders: {example}.</source>
   <translation>http:// দিয়ে শুরু ঠিকানা, বা ফোল্ডারসহ ফাইল বা প্রোগ্রামের নাম দিন: {example}।</translation>
  </message>
  <message>
   <source>Name another file.</source>
   <translation>অন্য ফাইলের নাম দিন।</translation>
  </message>
  <message>
   <source>Name another folder, or delete what is in it.</source>
   <translation>অন্য ফোল্ডারের নাম দিন, বা এতে যা আছে মুছুন।</translation>
  </message>
  <message>
   <source>Name another folder; it is made if it is not there.</source>
   <translation>অন্য ফোল্ডারের নাম দিন; না থাকলে তা বানানো হয়।</translation>
  </message>
  <message>
   <source>Name another source, or another column.</source>
   <translation>অন্য উৎস, বা অন্য কলামের নাম দিন।</translation>
  </message>
  <message>
   <source>Name another source, or mend it: text is UTF-8, or UTF-16 with its byte order mark.</source>
   <translation>অন্য উৎসের নাম দিন, বা এটি ঠিক করুন: লেখা হবে UTF-8, বা বাইট-ক্রমের চিহ্নসহ UTF-16।</translation>
  </message>
  <message>
   <source>Name another source.</source>
   <translation>অন্য উৎসের নাম দিন।</translation>
  </message>
  <message>
   <source>Name at most {most} programs.</source>
   <translation>বড়জোর {most}টি প্রোগ্রামের নাম দিন।</translation>
  </message>
  <message>
   <source>Name each device once.</source>
   <translation>প্রতিটি যন্ত্রের নাম একবার দিন।</translation>
  </message>
  <message>
   <source>Name fewer values.</source>
   <translation>কম মান দিন।</translation>
  </message>
  <message>
   <source>Name fewer with --host.</source>
   <translation>--host দিয়ে কম নাম দিন।</translation>
  </message>
  <message>
   <source>Name it as the system's list of running programs does: blender, steam.</source>
   <translation>সিস্টেমের চলমান প্রোগ্রামের তালিকায় যেমন আছে তেমন নাম দিন: blender, steam।</translation>
  </message>
  <message>
   <source>Name it from the top or from your home folder, as in {example}.</source>
   <translation>শুরু থেকে বা আপনার হোম ফোল্ডার থেকে পুরো পথ দিন, যেমন {example}।</translation>
  </message>
  <message>
   <source>Name it with --text.</source>
   <translation>--text দিয়ে এর নাম দিন।</translation>
  </message>
  <message>
   <source>Name its address.</source>
   <translation>এর ঠিকানা দিন।</translation>
  </message>
  <message>
   <source>Name its folder.</source>
   <translation>এর ফোল্ডারের নাম দিন।</translation>
  </message>
  <message>
   <source>Name one by how its id begins, such as {id}.</source>
   <translation>এর id যেভাবে শুরু তা দিয়ে নাম দিন, যেমন {id}।</translation>
  </message>
  <message>
   <source>Name one with --index, or the charter with --charter.</source>
   <translation>--index দিয়ে একটির নাম দিন, বা --charter দিয়ে সনদের।</translation>
  </message>
  <message>
   <source>Name one, or a URL.</source>
   <translation>একটির নাম, বা একটি URL দিন।</translation>
  </message>
  <message>
   <source>Name or &amp;address</source>
   <translation>নাম বা ঠিকানা (&amp;A)</translation>
  </message>
  <message>
   <source>Name or address</source>
   <translation>নাম বা ঠিকানা</translation>
  </message>
  <message>
   <source>Name other filters, or another source.</source>
   <translation>অন্য ছাঁকনি, বা অন্য উৎস দিন।</translation>
  </message>
  <message>
   <source>Name the file of a backup.</source>
   <translation>একটি ব্যাকআপের ফাইলের নাম দিন।</translation>
  </message>
  <message>
   <source>Name the file or the address of a list.</source>
   <translation>একটি তালিকার ফাইল বা ঠিকানা দিন।</translation>
  </message>
  <message>
   <source>Name the file or the address of one.</source>
   <translation>একটির ফাইল বা ঠিকানা দিন।</translation>
  </message>
  <message>
   <source>Name the folder in which the files lie.</source>
   <translation>ফাইলগুলো যে ফোল্ডারে আছে তার নাম দিন।</translation>
  </message>
  <message>
   <source>Name the folder of a collaboration: it holds {manifest} and {authority}.</source>
   <translation>একটি প্রকল্পের ফোল্ডারের নাম দিন: তাতে {manifest} ও {authority} থাকে।</translation>
  </message>
  <message>
   <source>Name the folder of receipts of one collaboration.</source>
   <translation>একটি প্রকল্পের রসিদের ফোল্ডারের নাম দিন।</translation>
  </message>
  <message>
   <source>Name the folder of the collaboration with --charter.</source>
   <translation>--charter দিয়ে প্রকল্পের ফোল্ডারের নাম দিন।</translation>
  </message>
  <message>
   <source>Name the folder that `potluck data cut` has made for it.</source>
   <translation>`potluck data cut` এর জন্য যে ফোল্ডার বানিয়েছে তার নাম দিন।</translation>
  </message>
  <message>
   <source>Name the index itself with --index.</source>
   <translation>--index দিয়ে সূচিটিরই নাম দিন।</translation>
  </message>
  <message>
   <source>Name the one that the shards are in, or a URL.</source>
   <translation>খণ্ডগুলো যেখানে আছে তার নাম, বা একটি URL দিন।</translation>
  </message>
  <message>
   <source>Name the page, or a file with its lines.</source>
   <translation>পাতাটির নাম, বা তার লাইনসহ একটি ফাইল দিন।</translation>
  </message>
  <message>
   <source>Name the right one with --{what} NAME, in a recipe with {what} = "NAME".</source>
   <translation>--{what} NAME দিয়ে ঠিকটির নাম দিন, রেসিপিতে {what} = "NAME" লিখে।</translation>
  </message>
  <message>
   <source>Name their collaboration with --join, and give it memory with --averaging-memory.</source>
   <translation>--join দিয়ে তাদের প্রকল্পের নাম দিন, আর --averaging-memory দিয়ে মেমরি।</translation>
  </message>
  <message>
   <source>Name with --text a folder of idx files, such as train-images-idx3-ubyte with train-labels-idx1-ubyte beside it.</source>
   <translation>--text দিয়ে idx ফাইলের একটি ফোল্ডারের নাম দিন, যেমন train-images-idx3-ubyte আর পাশে train-labels-idx1-ubyte।</translation>
  </message>
  <message>
   <source>Networ&amp;k</source>
   <translation>নেটওয়ার্ক (&amp;K)</translation>
  </message>
  <message>
   <source>Network</source>
   <translation>নেটওয়ার্ক</translation>
  </message>
  <message>
   <source>Never</source>
   <translation>কখনও নয়</translation>
  </message>
  <message>
   <source>Newer versions</source>
   <translation>নতুনতর সংস্করণ</translation>
  </message>
  <message>
   <source>Newer versions come the way it came: with apt upgrade, for example, or with git pull.</source>
   <translation>এটি যেভাবে এসেছে নতুনতর সংস্করণও সেভাবে আসে: যেমন apt upgrade বা git pull দিয়ে।</translation>
  </message>
  <message>
   <source>Newer versions could not be looked for.</source>
   <translation>নতুনতর সংস্করণ খোঁজা যায়নি।</translation>
  </message>
  <message>
   <source>Next try in {seconds} s.</source>
   <translation>{seconds} s পরে আবার চেষ্টা।</translation>
  </message>
  <message>
   <source>No backbone answers at {where}.</source>
   <translation>{where}-এ কোনো ব্যাকবোন উত্তর দেয় না।</translation>
  </message>
  <message>
   <source>No backbone answers at {where}. This computer takes part by the pass that it has, which holds until {until}, and asks on.</source>
   <translation>{where}-এ কোনো ব্যাকবোন উত্তর দেয় না। এই কম্পিউটার তার পাস দিয়ে অংশ নিচ্ছে, যা {until} পর্যন্ত খাটে, আর জিজ্ঞাসা করে চলেছে।</translation>
  </message>
  <message>
   <source>No backbone has told of any yet.</source>
   <translation>এখনও কোনো ব্যাকবোন এমন কিছু জানায়নি।</translation>
  </message>
  <message>
   <source>No backbone is called {words}.</source>
   <translation>{words} নামে কোনো ব্যাকবোন নেই।</translation>
  </message>
  <message>
   <source>No backbone of this collaboration has signed this question.</source>
   <translation>এই প্রকল্পের কোনো ব্যাকবোন এই প্রশ্নে সই করেনি।</translation>
  </message>
  <message>
   <source>No backbone or volunteer that is here has the text. They are asked again in {seconds} s.</source>
   <translation>এখানে থাকা কোনো ব্যাকবোন বা স্বেচ্ছাসেবকের কাছে লেখাটি নেই। {seconds} s পরে আবার চাওয়া হবে।</translation>
  </message>
  <message>
   <source>No collaboration is called {name}.</source>
   <translation>{name} নামে কোনো প্রকল্প নেই।</translation>
  </message>
  <message>
   <source>No company yet?</source>
   <translation>এখনও সঙ্গী নেই?</translation>
  </message>
  <message>
   <source>No computer is called {where}, as the link says. It is looked for again and again.</source>
   <translation>লিংকে যেমন লেখা, {where} নামে কোনো কম্পিউটার নেই। বারবার খোঁজা হচ্ছে।</translation>
  </message>
  <message>
   <source>No connection is that fast.</source>
   <translation>কোনো সংযোগ এত দ্রুত নয়।</translation>
  </message>
  <message>
   <source>No contribution in the last {days} days yet.</source>
   <translation>গত {days} দিনে এখনও কোনো অবদান নেই।</translation>
  </message>
  <message>
   <source>No day and no time is named.</source>
   <translation>কোনো দিন বা সময়ের নাম নেই।</translation>
  </message>
  <message>
   <source>No engine runs on {computer}.</source>
   <translation>{computer}-এ কোনো ইঞ্জিন চলছে না।</translation>
  </message>
  <message>
   <source>No expert of the model lives here: each takes {size} of memory, and too little is free.</source>
   <translation>মডেলের কোনো এক্সপার্ট এখানে থাকে না: প্রতিটির {size} মেমরি লাগে, আর ততটা খালি নেই।</translation>
  </message>
  <message>
   <source>No expert of the model lives here: each takes {size} of memory, and training may take {most}.</source>
   <translation>মডেলের কোনো এক্সপার্ট এখানে থাকে না: প্রতিটির {size} মেমরি লাগে, আর প্রশিক্ষণ {most} নিতে পারে।</translation>
  </message>
  <message>
   <source>No folder of a web server can be listed. Name a file, or many whose names count, as those of a cut do: https://.../{00000..00127}.jsonl.zst</source>
   <translation>ওয়েব সার্ভারের ফোল্ডারের তালিকা করা যায় না। একটি ফাইলের নাম দিন, বা ক্রমিক নামের অনেকগুলোর, যেমন কাটা লেখার হয়: https://.../{00000..00127}.jsonl.zst</translation>
  </message>
  <message>
   <source>No free port was found.</source>
   <translation>কোনো খালি পোর্ট পাওয়া যায়নি।</translation>
  </message>
  <message>
   <source>No limit</source>
   <translation>সীমা নেই</translation>
  </message>
  <message>
   <source>No list of collaborations comes with this Potluck.</source>
   <translation>এই Potluck-এর সঙ্গে প্রকল্পের কোনো তালিকা আসে না।</translation>
  </message>
  <message>
   <source>No member has signed this request.</source>
   <translation>কোনো সদস্য এই অনুরোধে সই করেননি।</translation>
  </message>
  <message>
   <source>No moderator has signed this request.</source>
   <translation>কোনো মডারেটর এই অনুরোধে সই করেননি।</translation>
  </message>
  <message>
   <source>No page answers at {site}.</source>
   <translation>{site}-এ কোনো পাতা উত্তর দেয় না।</translation>
  </message>
  <message>
   <source>No place that pip asks has {name} {version} for this computer, or none answers.</source>
   <translation>pip যেসব জায়গায় খোঁজে তার কোথাও এই কম্পিউটারের জন্য {name} {version} নেই, বা কেউ উত্তর দেয় না।</translation>
  </message>
  <message>
   <source>No port for peers is chosen yet; the first start draws one and keeps it.</source>
   <translation>অন্যদের জন্য এখনও পোর্ট বাছা হয়নি; প্রথমবার চালু হলে একটি বেছে রাখা হয়।</translation>
  </message>
  <message>
   <source>No program fills the screen.</source>
   <translation>কোনো প্রোগ্রাম পুরো পর্দা জুড়ে নেই।</translation>
  </message>
  <message>
   <source>No program of this computer may open any more files.</source>
   <translation>এই কম্পিউটারের কোনো প্রোগ্রাম আর ফাইল খুলতে পারে না।</translation>
  </message>
  <message>
   <source>No proposal is called {words}.</source>
   <translation>{words} নামে কোনো প্রস্তাব নেই।</translation>
  </message>
  <message>
   <source>No recipe is named.</source>
   <translation>কোনো রেসিপির নাম দেওয়া হয়নি।</translation>
  </message>
  <message>
   <source>No router is in the way, so a firewall is: allow Potluck in the firewall of this computer.</source>
   <translation>মাঝে রাউটার নেই, তাই ফায়ারওয়াল আছে: এই কম্পিউটারের ফায়ারওয়ালে Potluck-কে অনুমতি দিন।</translation>
  </message>
  <message>
   <source>No shard of this collaboration lies in {folder}.</source>
   <translation>{folder}-এ এই প্রকল্পের কোনো খণ্ড নেই।</translation>
  </message>
  <message>
   <source>No source is named.</source>
   <translation>কোনো উৎসের নাম দেওয়া হয়নি।</translation>
  </message>
  <message>
   <source>No training process runs.</source>
   <translation>কোনো প্রশিক্ষণ প্রক্রিয়া চলছে না।</translation>
  </message>
  <message>
   <source>Nobody came in so, or all who did are shut out already.</source>
   <translation>এভাবে কেউ ঢোকেনি, বা যারা ঢুকেছিল সবাই আগেই বাদ।</translation>
  </message>
  <message>
   <source>Nobody can be asked here: {question}</source>
   <translation>এখানে কাউকে জিজ্ঞাসা করা যায় না: {question}</translation>
  </message>
  <message>
   <source>Nobody has called port {port} yet: it takes two others who can be called themselves. {reach}</source>
   <translation>এখনও কেউ {port} পোর্টে ডাকেনি: এতে আরও দুজন লাগে যাদের নিজেদের ডাকা যায়। {reach}</translation>
  </message>
  <message>
   <source>Nobody has touched this computer for {seconds} s.</source>
   <translation>{seconds} s ধরে কেউ এই কম্পিউটার ছোঁয়নি।</translation>
  </message>
  <message>
   <source>Nobody here is called {who}.</source>
   <translation>এখানে {who} নামে কেউ নেই।</translation>
  </message>
  <message>
   <source>Nobody here is called {words}.</source>
   <translation>এখানে {words} নামে কেউ নেই।</translation>
  </message>
  <message>
   <source>Nobody is known here yet.</source>
   <translation>এখানে এখনও কারও কথা জানা নেই।</translation>
  </message>
  <message>
   <source>Nobody new can come in to {name} then. Those who are in train on for 4 days, and longer once it runs again.</source>
   <translation>তখন নতুন কেউ {name}-এ ঢুকতে পারে না। যাঁরা আছেন তাঁরা 4 দিন প্রশিক্ষণ চালান, আবার চালু হলে আরও বেশি।</translation>
  </message>
  <message>
   <source>Nobody new is let in at present.</source>
   <translation>এখন নতুন কাউকে ঢুকতে দেওয়া হয় না।</translation>
  </message>
  <message>
   <source>Nobody publishes updates of this Potluck.</source>
   <translation>এই Potluck-এর হালনাগাদ কেউ প্রকাশ করেন না।</translation>
  </message>
  <message>
   <source>Nobody uses it from afar.</source>
   <translation>দূর থেকে কেউ এটি ব্যবহার করছে না।</translation>
  </message>
  <message>
   <source>Nobody uses that much in a month.</source>
   <translation>মাসে কেউ এত ব্যবহার করে না।</translation>
  </message>
  <message>
   <source>Nobody waits under the number {number}.</source>
   <translation>{number} নম্বরে কেউ অপেক্ষায় নেই।</translation>
  </message>
  <message>
   <source>Nobody who is meant is shut out.</source>
   <translation>যাঁদের বোঝানো হয়েছে তাঁদের কেউ বাদ পড়েননি।</translation>
  </message>
  <message>
   <source>Nobody would be left who can decide.</source>
   <translation>সিদ্ধান্ত নেওয়ার মতো কেউ থাকত না।</translation>
  </message>
  <message>
   <source>Nobody would be left who gives passes.</source>
   <translation>পাস দেওয়ার মতো কেউ থাকত না।</translation>
  </message>
  <message>
   <source>Nobody yet.</source>
   <translation>এখনও কেউ নেই।</translation>
  </message>
  <message>
   <source>None is needed: the link lets you in.</source>
   <translation>লাগবে না: লিংকই আপনাকে ঢুকতে দেয়।</translation>
  </message>
  <message>
   <source>None is read now.</source>
   <translation>এখন কিছু পড়া হচ্ছে না।</translation>
  </message>
  <message>
   <source>None of these runs has come to its end.</source>
   <translation>এগুলোর কোনোটিই শেষ হয়নি।</translation>
  </message>
  <message>
   <source>None of your computers gets a pass any more; the others stop within some hours. Your name leaves the board, and nobody else gets it; what you gave stays in the model, without a name. This cannot be taken back. If you signed in with a browser, take your account out there as well.</source>
   <translation>আপনার কোনো কম্পিউটার আর পাস পাবে না; অন্যগুলো কয়েক ঘণ্টার মধ্যে থামবে। আপনার নাম তালিকা থেকে যাবে, আর কেউ তা পাবে না; আপনি যা দিয়েছেন তা নাম ছাড়াই মডেলে থাকবে। এটি ফেরানো যায় না। ব্রাউজার দিয়ে সাইন ইন করে থাকলে সেখানেও আপনার অ্যাকাউন্ট তুলে নিন।</translation>
  </message>
  <message>
   <source>None of your computers is called {words}.</source>
   <translation>আপনার কোনো কম্পিউটারের নাম {words} নয়।</translation>
  </message>
  <message>
   <source>Nor&amp;mal</source>
   <translation>সাধারণ (&amp;M)</translation>
  </message>
  <message>
   <source>Norm</source>
   <translation>নর্ম</translation>
  </message>
  <message>
   <source>Norm and cosine compare somebody's parts with the others', where this computer averaged them. Few samples alone make a part long, and its direction unlike the others'. They prove nothing by themselves.</source>
   <translation>নর্ম ও কোসাইন কারও অংশকে অন্যদের অংশের সঙ্গে তুলনা করে, যেখানে এই কম্পিউটার সেগুলোর গড় করেছে। নমুনা কম হলেই অংশ বড় হয়, আর তার দিক অন্যদের মতো হয় না। এগুলো নিজে থেকে কিছু প্রমাণ করে না।</translation>
  </message>
  <message>
   <source>Not all of Potluck could be ended.</source>
   <translation>Potluck-এর সবটা শেষ করা যায়নি।</translation>
  </message>
  <message>
   <source>Not at all</source>
   <translation>একদম নয়</translation>
  </message>
  <message>
   <source>Not connected</source>
   <translation>যুক্ত নয়</translation>
  </message>
  <message>
   <source>Not connected: this is what was known at {moment}.</source>
   <translation>যুক্ত নয়: {moment}-এ যা জানা ছিল তা-ই এখানে।</translation>
  </message>
  <message>
   <source>Not known before the start; {have}</source>
   <translation>শুরুর আগে জানা নেই; {have}</translation>
  </message>
  <message>
   <source>Not reached</source>
   <translation>পৌঁছানো যায়নি</translation>
  </message>
  <message>
   <source>Not told</source>
   <translation>জানানো হয়নি</translation>
  </message>
  <message>
   <source>Not yet: start pa&amp;used</source>
   <translation>এখনই নয়: থামিয়ে রেখে শুরু (&amp;U)</translation>
  </message>
  <message>
   <source>Note</source>
   <translation>টীকা</translation>
  </message>
  <message>
   <source>Nothing can be read there. {why}</source>
   <translation>সেখানে কিছু পড়া যায় না। {why}</translation>
  </message>
  <message>
   <source>Nothing has changed: you have signed that, or something else was decided meanwhile.</source>
   <translation>কিছু বদলায়নি: আপনি আগেই সই করেছেন, বা এর মধ্যে অন্য সিদ্ধান্ত হয়ে গেছে।</translation>
  </message>
  <message>
   <source>Nothing has to be done: the key is then kept in a file that only you can read.</source>
   <translation>কিছু করতে হবে না: চাবিটি তখন এমন ফাইলে থাকে যা শুধু আপনি পড়তে পারেন।</translation>
  </message>
  <message>
   <source>Nothing in this source passes the filters.</source>
   <translation>এই উৎসের কিছুই ছাঁকনি পেরোয় না।</translation>
  </message>
  <message>
   <source>Nothing of Potluck</source>
   <translation>Potluck-এর কিছুই নয়</translation>
  </message>
  <message>
   <source>Nothing of Potluck starts when you log in.</source>
   <translation>লগইনের সময় Potluck-এর কিছুই চালু হয় না।</translation>
  </message>
  <message>
   <source>Nothing of it is kept then; your texts stay as they are.</source>
   <translation>তখন এর কিছুই রাখা হয় না; আপনার লেখা যেমন ছিল তেমনই থাকে।</translation>
  </message>
  <message>
   <source>Nothing of this kind.</source>
   <translation>এমন কিছু নেই।</translation>
  </message>
  <message>
   <source>Nothing was given yet.</source>
   <translation>এখনও কিছু দেওয়া হয়নি।</translation>
  </message>
  <message>
   <source>Nothing was lost. Free some space where {folder} lies; if Potluck has ended, start it again.</source>
   <translation>কিছু হারায়নি। {folder} যেখানে আছে সেখানে জায়গা খালি করুন; Potluck শেষ হয়ে থাকলে আবার চালু করুন।</translation>
  </message>
  <message>
   <source>Nothing went into a step of the model yet today.</source>
   <translation>আজ এখনও কিছু মডেলের কোনো ধাপে যায়নি।</translation>
  </message>
  <message>
   <source>Notifica&amp;tions of the desktop</source>
   <translation>ডেস্কটপের বিজ্ঞপ্তি (&amp;T)</translation>
  </message>
  <message>
   <source>Numbers that say how the model should change, never text or files of yours. With them go your name here, a key that stands for this computer, its address in the network, how fast it computes, and what it is doing. Every connection is encrypted, and both sides prove who they are.</source>
   <translation>মডেল কীভাবে বদলাবে তা বলা সংখ্যা, কখনও আপনার লেখা বা ফাইল নয়। সঙ্গে যায় এখানে আপনার নাম, এই কম্পিউটারের একটি চাবি, নেটওয়ার্কে এর ঠিকানা, কত দ্রুত হিসাব করে, আর কী করছে। প্রতিটি সংযোগ এনক্রিপ্ট করা, আর দুই পক্ষই নিজের পরিচয় প্রমাণ করে।</translation>
  </message>
  <message>
   <source>O&amp;nly these</source>
   <translation>শুধু এগুলো (&amp;N)</translation>
  </message>
  <message>
   <source>O&amp;pen the folder</source>
   <translation>ফোল্ডার খুলুন (&amp;P)</translation>
  </message>
  <message>
   <source>Of the receipts, {count} could not be read and are left out.</source>
   <translation>রসিদগুলোর {count}টি পড়া যায়নি, তাই বাদ।</translation>
  </message>
  <message>
   <source>Off until {moment}</source>
   <translation>{moment} পর্যন্ত বন্ধ</translation>
  </message>
  <message>
   <source>On macOS, links open Potluck as long as it is in the Applications folder.</source>
   <translation>macOS-এ Potluck Applications ফোল্ডারে থাকলে লিংক Potluck খোলে।</translation>
  </message>
  <message>
   <source>On macOS, links open Potluck once it is in the Applications folder.</source>
   <translation>macOS-এ Potluck Applications ফোল্ডারে এলে লিংক Potluck খুলবে।</translation>
  </message>
  <message>
   <source>On this computer</source>
   <translation>এই কম্পিউটারে</translation>
  </message>
  <message>
   <source>On until {moment}, whatever the rules say</source>
   <translation>{moment} পর্যন্ত চালু, নিয়ম যা-ই বলুক</translation>
  </message>
  <message>
   <source>Once a &amp;week, what you gave</source>
   <translation>সপ্তাহে একবার, আপনি কী দিয়েছেন (&amp;W)</translation>
  </message>
  <message>
   <source>One moderator can hold {most} computers at a time.</source>
   <translation>একজন মডারেটর একসঙ্গে {most}টি কম্পিউটার স্থগিত রাখতে পারেন।</translation>
  </message>
  <message>
   <source>One month</source>
   <translation>এক মাস</translation>
  </message>
  <message>
   <source>Only computers in your home can come in: your provider, or a second router, shares one address among several homes. A provider with IPv6, or a rented server, would change that.</source>
   <translation>শুধু আপনার বাড়ির কম্পিউটার আসতে পারে: ইন্টারনেট প্রদানকারী বা দ্বিতীয় রাউটার কয়েকটি বাড়িকে একই ঠিকানা দেয়। IPv6 দেয় এমন প্রদানকারী, বা ভাড়ার সার্ভার তা বদলাত।</translation>
  </message>
  <message>
   <source>Only computers in your home can come in: your router opens no port by itself. Allow UPnP in the router, and look again; or forward the two ports that are told in the end, and name the address that others call.</source>
   <translation>শুধু আপনার বাড়ির কম্পিউটার আসতে পারে: আপনার রাউটার নিজে পোর্ট খোলে না। রাউটারে UPnP চালু করে আবার দেখুন; বা শেষে বলা দুটি পোর্ট এগিয়ে দিন, আর অন্যরা যে ঠিকানায় ডাকে তার নাম দিন।</translation>
  </message>
  <message>
   <source>Only in these &amp;hours:</source>
   <translation>শুধু এই সময়ে (&amp;H):</translation>
  </message>
  <message>
   <source>Only the organiser can let it in again.</source>
   <translation>শুধু আয়োজকই একে আবার ঢুকতে দিতে পারেন।</translation>
  </message>
  <message>
   <source>Only they can let you in again: ask the organiser.</source>
   <translation>শুধু তাঁরাই আপনাকে আবার ঢুকতে দিতে পারেন: আয়োজককে জিজ্ঞাসা করুন।</translation>
  </message>
  <message>
   <source>Only while &amp;nobody uses it</source>
   <translation>শুধু কেউ ব্যবহার না করলে (&amp;N)</translation>
  </message>
  <message>
   <source>Open a list of collaborations that take in anybody.</source>
   <translation>যে কাউকে নেয় এমন প্রকল্পের তালিকা খুলুন।</translation>
  </message>
  <message>
   <source>Open the b&amp;rowser</source>
   <translation>ব্রাউজার খুলুন (&amp;R)</translation>
  </message>
  <message>
   <source>Open the link again to sign in, or ask the organiser for one with an invitation.</source>
   <translation>সাইন ইন করতে লিংকটি আবার খুলুন, বা আয়োজকের কাছে আমন্ত্রণসহ একটি চান।</translation>
  </message>
  <message>
   <source>Open the moderators' pages in the browser</source>
   <translation>ব্রাউজারে মডারেটরদের পাতা খুলুন</translation>
  </message>
  <message>
   <source>Open this link in Potluck on your other computer, until {moment}. Send it to nobody: the computer that opens it becomes yours, under your name.</source>
   <translation>{moment} পর্যন্ত আপনার অন্য কম্পিউটারে Potluck-এ এই লিংক খুলুন। কাউকে পাঠাবেন না: যে কম্পিউটার এটি খোলে তা আপনার নামে আপনারই হয়ে যায়।</translation>
  </message>
  <message>
   <source>Or read this with a telephone, and sign in there.</source>
   <translation>বা ফোন দিয়ে এটি পড়ে সেখানে সাইন ইন করুন।</translation>
  </message>
  <message>
   <source>Organised by</source>
   <translation>আয়োজক</translation>
  </message>
  <message>
   <source>Other members have them in the folder shards of their Potluck home: bring those files here into one folder, and name it with --shards.</source>
   <translation>অন্য সদস্যদের Potluck হোমের shards ফোল্ডারে এগুলো আছে: ফাইলগুলো এখানে এক ফোল্ডারে আনুন, আর --shards দিয়ে তার নাম দিন।</translation>
  </message>
  <message>
   <source>Other programs take more than {percent} % of the graphics card. Potluck continues when they need less.</source>
   <translation>অন্য প্রোগ্রাম গ্রাফিক্স কার্ডের {percent} %-এর বেশি নিচ্ছে। কম লাগলে Potluck আবার চলবে।</translation>
  </message>
  <message>
   <source>Other programs take more than {percent} % of the processor. Potluck continues when they need less.</source>
   <translation>অন্য প্রোগ্রাম প্রসেসরের {percent} %-এর বেশি নিচ্ছে। কম লাগলে Potluck আবার চলবে।</translation>
  </message>
  <message>
   <source>Other reasons to rest</source>
   <translation>বিশ্রামের অন্য কারণ</translation>
  </message>
  <message>
   <source>Other volunteers are heard at port {port_now} now; port {port} counts from the next start.</source>
   <translation>অন্য স্বেচ্ছাসেবকদের এখন {port_now} পোর্টে শোনা হয়; পরের বার চালু হলে {port} পোর্ট খাটবে।</translation>
  </message>
  <message>
   <source>Other volunteers are heard at port {port_now} now; the next start draws another.</source>
   <translation>অন্য স্বেচ্ছাসেবকদের এখন {port_now} পোর্টে শোনা হয়; পরের বার চালু হলে আরেকটি বাছা হবে।</translation>
  </message>
  <message>
   <source>Other volunteers can reach this computer directly.</source>
   <translation>অন্য স্বেচ্ছাসেবকরা এই কম্পিউটারে সরাসরি পৌঁছাতে পারেন।</translation>
  </message>
  <message>
   <source>Others are asked to call this computer. This takes some seconds…</source>
   <translation>অন্যদের এই কম্পিউটারকে ডাকতে বলা হচ্ছে। কয়েক সেকেন্ড লাগে…</translation>
  </message>
  <message>
   <source>Others can come in wherever they can call this address.</source>
   <translation>যেখান থেকে এই ঠিকানায় ডাকা যায়, অন্যরা সেখান থেকেই আসতে পারেন।</translation>
  </message>
  <message>
   <source>Others could call with</source>
   <translation>অন্যরা ডাকতে পারত এভাবে:</translation>
  </message>
  <message>
   <source>Others could read what you type at {site}: its address does not begin with https.</source>
   <translation>{site}-এ আপনি যা লেখেন তা অন্যরা পড়তে পারত: এর ঠিকানা https দিয়ে শুরু নয়।</translation>
  </message>
  <message>
   <source>Others on this computer can read the secrets in {file}.</source>
   <translation>এই কম্পিউটারের অন্যরা {file}-এর গোপন কথা পড়তে পারে।</translation>
  </message>
  <message>
   <source>Others {when} port {port} of this computer and got through over TCP, but not over UDP.</source>
   <translation>অন্যরা এই কম্পিউটারের {port} পোর্টে {when} এবং TCP-তে পৌঁছেছে, কিন্তু UDP-তে নয়।</translation>
  </message>
  <message>
   <source>Others {when} port {port} of this computer and got through over UDP, but not over TCP. {reach}</source>
   <translation>অন্যরা এই কম্পিউটারের {port} পোর্টে {when} এবং UDP-তে পৌঁছেছে, কিন্তু TCP-তে নয়। {reach}</translation>
  </message>
  <message>
   <source>Others {when} port {port} of this computer and got through, over TCP and UDP.</source>
   <translation>অন্যরা এই কম্পিউটারের {port} পোর্টে {when} এবং TCP ও UDP দুটিতেই পৌঁছেছে।</translation>
  </message>
  <message>
   <source>Others {when} port {port} of this computer, and nobody got through. {reach}</source>
   <translation>অন্যরা এই কম্পিউটারের {port} পোর্টে {when}, কিন্তু কেউ পৌঁছায়নি। {reach}</translation>
  </message>
  <message>
   <source>Otherwise Potluck rests while the system calls the connection metered.</source>
   <translation>না হলে সিস্টেম সংযোগে খরচ হয় বললে Potluck বিশ্রাম নেয়।</translation>
  </message>
  <message>
   <source>Otherwise it computes on, and other programs go first.</source>
   <translation>না হলে হিসাব চলতে থাকে, আর অন্য প্রোগ্রাম আগে চলে।</translation>
  </message>
  <message>
   <source>Pages</source>
   <translation>পাতা</translation>
  </message>
  <message>
   <source>Parts of the model live on members' computers and answer the others: here up to {size} of memory more.</source>
   <translation>মডেলের কিছু অংশ সদস্যদের কম্পিউটারে থাকে ও অন্যদের উত্তর দেয়: এখানে আরও {size} পর্যন্ত মেমরি।</translation>
  </message>
  <message>
   <source>Passed on {size} for computers that cannot be called.</source>
   <translation>যাদের ডাকা যায় না তাদের জন্য {size} বয়ে দেওয়া হয়েছে।</translation>
  </message>
  <message>
   <source>Paste the link that the organiser gave you, or click it where it was sent to you.</source>
   <translation>আয়োজক যে লিংক দিয়েছেন তা পেস্ট করুন, বা যেখানে পাঠানো হয়েছে সেখানে ক্লিক করুন।</translation>
  </message>
  <message>
   <source>Pause &amp;for</source>
   <translation>কিছুক্ষণ থামান (&amp;F)</translation>
  </message>
  <message>
   <source>Pause (Space)</source>
   <translation>থামান (Space)</translation>
  </message>
  <message>
   <source>Pause it</source>
   <translation>এটি থামান</translation>
  </message>
  <message>
   <source>Pause the card {name}</source>
   <translation>{name} কার্ড থামান</translation>
  </message>
  <message>
   <source>Paused</source>
   <translation>থেমে আছে</translation>
  </message>
  <message>
   <source>Paused by you</source>
   <translation>আপনি থামিয়েছেন</translation>
  </message>
  <message>
   <source>Paused by you until {moment}</source>
   <translation>আপনি {moment} পর্যন্ত থামিয়েছেন</translation>
  </message>
  <message>
   <source>Paused by you, as all cards are</source>
   <translation>সব কার্ডের মতো আপনি থামিয়েছেন</translation>
  </message>
  <message>
   <source>Paused by you: nothing is computed until you switch contributing on again.</source>
   <translation>আপনি থামিয়েছেন: অবদান আবার চালু না করা পর্যন্ত কিছু হিসাব হয় না।</translation>
  </message>
  <message>
   <source>Paused by you: nothing is computed. Potluck continues {moment}.</source>
   <translation>আপনি থামিয়েছেন: কিছু হিসাব হয় না। Potluck {moment} আবার চলবে।</translation>
  </message>
  <message>
   <source>Pausing…</source>
   <translation>থামছে…</translation>
  </message>
  <message>
   <source>People</source>
   <translation>মানুষজন</translation>
  </message>
  <message>
   <source>People bring a little of their computers' time, and train one model together.</source>
   <translation>মানুষ নিজেদের কম্পিউটারের একটু সময় দেন, আর একসঙ্গে একটি মডেল প্রশিক্ষণ দেন।</translation>
  </message>
  <message>
   <source>People whom the organiser has let in: each computer has a pass that the organiser's key has signed and that ends by itself. All members check each other's passes, what each of them gave is signed by the others, and a computer whose pass is withdrawn is refused by everybody within a minute.</source>
   <translation>যাঁদের আয়োজক ঢুকতে দিয়েছেন: প্রতিটি কম্পিউটারের একটি পাস থাকে, আয়োজকের চাবিতে সই করা, যা নিজে থেকে শেষ হয়। সব সদস্য একে অন্যের পাস দেখেন, কে কী দিয়েছেন তাতে অন্যরা সই করেন, আর যার পাস তুলে নেওয়া হয় তাকে সবাই এক মিনিটের মধ্যে ফিরিয়ে দেন।</translation>
  </message>
  <message>
   <source>Plug in its cable, or connect it to Wi-Fi: Potluck goes on by itself.</source>
   <translation>তার লাগান, বা Wi-Fi-এ যুক্ত করুন: Potluck নিজে থেকেই চলবে।</translation>
  </message>
  <message>
   <source>Port {port} ({kind}), at which other computers call, {taken}.</source>
   <translation>{port} ({kind}) পোর্টে অন্য কম্পিউটার ডাকে, তা {taken}।</translation>
  </message>
  <message>
   <source>Port {port} cannot be used: {why}.</source>
   <translation>{port} পোর্ট ব্যবহার করা যায় না: {why}।</translation>
  </message>
  <message>
   <source>Port {port} is free for TCP and UDP.</source>
   <translation>{port} পোর্ট TCP ও UDP-র জন্য খালি।</translation>
  </message>
  <message>
   <source>Port {port} is used by another program.</source>
   <translation>{port} পোর্ট অন্য একটি প্রোগ্রাম ব্যবহার করছে।</translation>
  </message>
  <message>
   <source>PostgreSQL needs psycopg.</source>
   <translation>PostgreSQL-এর psycopg লাগে।</translation>
  </message>
  <message>
   <source>Potluck at home</source>
   <translation>বাড়িতে Potluck</translation>
  </message>
  <message>
   <source>Potluck begins anew.</source>
   <translation>Potluck নতুন করে শুরু হচ্ছে।</translation>
  </message>
  <message>
   <source>Potluck can work here: {all} checks, no problem.</source>
   <translation>Potluck এখানে কাজ করতে পারে: {all}টি পরীক্ষা, কোনো সমস্যা নেই।</translation>
  </message>
  <message>
   <source>Potluck cannot read {scheme}:// addresses.</source>
   <translation>Potluck {scheme}:// ঠিকানা পড়তে পারে না।</translation>
  </message>
  <message>
   <source>Potluck does not answer</source>
   <translation>Potluck উত্তর দিচ্ছে না</translation>
  </message>
  <message>
   <source>Potluck does not look for newer versions by itself.</source>
   <translation>Potluck নিজে নতুনতর সংস্করণ খোঁজে না।</translation>
  </message>
  <message>
   <source>Potluck ended unexpectedly: nothing is computed.</source>
   <translation>Potluck হঠাৎ শেষ হয়ে গেছে: কিছু হিসাব হচ্ছে না।</translation>
  </message>
  <message>
   <source>Potluck ended unexpectedly: nothing is computed. It is started again in {seconds} s.</source>
   <translation>Potluck হঠাৎ শেষ হয়ে গেছে: কিছু হিসাব হচ্ছে না। {seconds} s পরে আবার চালু হবে।</translation>
  </message>
  <message>
   <source>Potluck ends.</source>
   <translation>Potluck শেষ হচ্ছে।</translation>
  </message>
  <message>
   <source>Potluck goes on</source>
   <translation>Potluck চলতে থাকে</translation>
  </message>
  <message>
   <source>Potluck goes on as the new version after the present step.</source>
   <translation>এখনকার ধাপের পরে Potluck নতুন সংস্করণ হিসেবে চলবে।</translation>
  </message>
  <message>
   <source>Potluck goes on asking, and takes part as soon as a moderator says yes.</source>
   <translation>Potluck জিজ্ঞাসা করে চলেছে, আর কোনো মডারেটর হ্যাঁ বললেই অংশ নেবে।</translation>
  </message>
  <message>
   <source>Potluck has stopped.</source>
   <translation>Potluck থেমে গেছে।</translation>
  </message>
  <message>
   <source>Potluck is already running here.</source>
   <translation>Potluck এখানে আগেই চলছে।</translation>
  </message>
  <message>
   <source>Potluck is already running.</source>
   <translation>Potluck আগেই চলছে।</translation>
  </message>
  <message>
   <source>Potluck is already running. {problem}</source>
   <translation>Potluck আগেই চলছে। {problem}</translation>
  </message>
  <message>
   <source>Potluck is being updated already.</source>
   <translation>Potluck আগেই হালনাগাদ হচ্ছে।</translation>
  </message>
  <message>
   <source>Potluck is not running here. This window waits for it to start.</source>
   <translation>Potluck এখানে চলছে না। এই জানালা তার চালু হওয়ার অপেক্ষায়।</translation>
  </message>
  <message>
   <source>Potluck is not running.</source>
   <translation>Potluck চলছে না।</translation>
  </message>
  <message>
   <source>Potluck is not running: nothing is computed.</source>
   <translation>Potluck চলছে না: কিছু হিসাব হচ্ছে না।</translation>
  </message>
  <message>
   <source>Potluck is starting.</source>
   <translation>Potluck চালু হচ্ছে।</translation>
  </message>
  <message>
   <source>Potluck leaves it alone. To use it all the same: potluck settings metered yes</source>
   <translation>Potluck এটি ব্যবহার করে না। তবু ব্যবহার করতে: potluck settings metered yes</translation>
  </message>
  <message>
   <source>Potluck may not open any more files.</source>
   <translation>Potluck আর ফাইল খুলতে পারে না।</translation>
  </message>
  <message>
   <source>Potluck may not write to {folder}.</source>
   <translation>Potluck {folder}-এ লিখতে পারে না।</translation>
  </message>
  <message>
   <source>Potluck may work</source>
   <translation>Potluck কাজ করতে পারে</translation>
  </message>
  <message>
   <source>Potluck may work for a part of it</source>
   <translation>Potluck এর কিছুটা সময় কাজ করতে পারে</translation>
  </message>
  <message>
   <source>Potluck met a mistake in itself. What happened is a text on this computer; nothing was sent.</source>
   <translation>Potluck নিজের মধ্যে একটি ভুল পেয়েছে। কী ঘটেছে তা এই কম্পিউটারে লেখা আছে; কিছু পাঠানো হয়নি।</translation>
  </message>
  <message>
   <source>Potluck refuses this program</source>
   <translation>Potluck এই প্রোগ্রামকে ফিরিয়ে দেয়</translation>
  </message>
  <message>
   <source>Potluck rests</source>
   <translation>Potluck বিশ্রাম নেয়</translation>
  </message>
  <message>
   <source>Potluck rests while a program fills the screen.</source>
   <translation>কোনো প্রোগ্রাম পুরো পর্দা জুড়ে থাকলে Potluck বিশ্রাম নেয়।</translation>
  </message>
  <message>
   <source>Potluck rests while {program} runs, as you chose.</source>
   <translation>{program} চললে Potluck বিশ্রাম নেয়, আপনি যেমন বেছেছেন।</translation>
  </message>
  <message>
   <source>Potluck runs here, and uses another key.</source>
   <translation>Potluck এখানে চলছে, আর অন্য চাবি ব্যবহার করছে।</translation>
  </message>
  <message>
   <source>Potluck runs, but does not say how others reach it. {why}</source>
   <translation>Potluck চলছে, কিন্তু অন্যরা কীভাবে পৌঁছায় বলছে না। {why}</translation>
  </message>
  <message>
   <source>Potluck runs. {told}</source>
   <translation>Potluck চলছে। {told}</translation>
  </message>
  <message>
   <source>Potluck starts.</source>
   <translation>Potluck চালু হচ্ছে।</translation>
  </message>
  <message>
   <source>Potluck uses it, as you chose. To leave it alone: potluck settings metered no</source>
   <translation>Potluck এটি ব্যবহার করে, আপনি যেমন বেছেছেন। না করতে: potluck settings metered no</translation>
  </message>
  <message>
   <source>Potluck was asked to compute nothing, and has not confirmed it yet.</source>
   <translation>Potluck-কে কিছু হিসাব না করতে বলা হয়েছে, এখনও সে নিশ্চিত করেনি।</translation>
  </message>
  <message>
   <source>Potluck was asked to contribute, and has not confirmed it yet.</source>
   <translation>Potluck-কে অবদান রাখতে বলা হয়েছে, এখনও সে নিশ্চিত করেনি।</translation>
  </message>
  <message>
   <source>Potluck was killed the last time, or the computer lost power.</source>
   <translation>গতবার Potluck জোর করে বন্ধ করা হয়েছিল, বা কম্পিউটারের বিদ্যুৎ গিয়েছিল।</translation>
  </message>
  <message>
   <source>Potluck works in the hours that are filled, and rests in the others. Draw over them to change, or use the arrow keys and Space.</source>
   <translation>ভরা ঘণ্টাগুলোতে Potluck কাজ করে, অন্যগুলোতে বিশ্রাম নেয়। বদলাতে টেনে আঁকুন, বা তীর চাবি ও Space ব্যবহার করুন।</translation>
  </message>
  <message>
   <source>Potluck {running} is the newest version for this computer.</source>
   <translation>এই কম্পিউটারের জন্য Potluck {running} সবচেয়ে নতুন সংস্করণ।</translation>
  </message>
  <message>
   <source>Potluck {version}</source>
   <translation>Potluck {version}</translation>
  </message>
  <message>
   <source>Potluck {version} is here: the next start takes it, and {running} runs until then.</source>
   <translation>Potluck {version} এসে গেছে: পরের বার চালু হলে এটি চলবে, ততক্ষণ {running} চলে।</translation>
  </message>
  <message>
   <source>Potluck {version} is here: this computer goes on with it after the present step.</source>
   <translation>Potluck {version} এসে গেছে: এখনকার ধাপের পরে এই কম্পিউটার এটি দিয়ে চলবে।</translation>
  </message>
  <message>
   <source>Potluck {version} is there, and {running} runs.</source>
   <translation>Potluck {version} পাওয়া যায়, আর {running} চলছে।</translation>
  </message>
  <message>
   <source>Potluck's files</source>
   <translation>Potluck-এর ফাইল</translation>
  </message>
  <message>
   <source>Pr&amp;ice</source>
   <translation>দাম (&amp;I)</translation>
  </message>
  <message>
   <source>Prepare the model and the text</source>
   <translation>মডেল ও লেখা প্রস্তুত করা</translation>
  </message>
  <message>
   <source>Problem</source>
   <translation>সমস্যা</translation>
  </message>
  <message>
   <source>Problem: {message}</source>
   <translation>সমস্যা: {message}</translation>
  </message>
  <message>
   <source>Processor</source>
   <translation>প্রসেসর</translation>
  </message>
  <message>
   <source>Propose another list of moderators.</source>
   <translation>মডারেটরদের অন্য তালিকা প্রস্তাব করুন।</translation>
  </message>
  <message>
   <source>Putting everyone's work into the model, {company}.</source>
   <translation>সবার কাজ মডেলে মেলানো হচ্ছে, {company}।</translation>
  </message>
  <message>
   <source>QR code of the address, with the code</source>
   <translation>কোডসহ ঠিকানার QR কোড</translation>
  </message>
  <message>
   <source>QR code of the link</source>
   <translation>লিংকের QR কোড</translation>
  </message>
  <message>
   <source>Quit Potluck and repeat this: it is not used any more.</source>
   <translation>Potluck থেকে বেরিয়ে আবার করুন: এটি আর ব্যবহার হয় না।</translation>
  </message>
  <message>
   <source>Quit Potluck, then in a terminal: pip uninstall potluck</source>
   <translation>Potluck বন্ধ করুন, তারপর টার্মিনালে: pip uninstall potluck</translation>
  </message>
  <message>
   <source>Quit Potluck, then move it from Applications to the Bin.</source>
   <translation>Potluck বন্ধ করুন, তারপর অ্যাপ্লিকেশন থেকে ট্র্যাশে সরান।</translation>
  </message>
  <message>
   <source>Quit in its menu ends everything.</source>
   <translation>মেনুর "বেরিয়ে যান" সব শেষ করে।</translation>
  </message>
  <message>
   <source>Rank</source>
   <translation>স্থান</translation>
  </message>
  <message>
   <source>Re&amp;start Potluck</source>
   <translation>Potluck আবার চালু করুন (&amp;S)</translation>
  </message>
  <message>
   <source>Reading stopped: {error}</source>
   <translation>পড়া থেমে গেছে: {error}</translation>
  </message>
  <message>
   <source>Reading text</source>
   <translation>লেখা পড়ছে</translation>
  </message>
  <message>
   <source>Reading text and preparing what is to be learned.</source>
   <translation>লেখা পড়ছে আর যা শেখার তা প্রস্তুত করছে।</translation>
  </message>
  <message>
   <source>Reading the experts</source>
   <translation>এক্সপার্ট পড়া হচ্ছে</translation>
  </message>
  <message>
   <source>Reading the list…</source>
   <translation>তালিকা পড়া হচ্ছে…</translation>
  </message>
  <message>
   <source>Reading the model</source>
   <translation>মডেল পড়ছে</translation>
  </message>
  <message>
   <source>Reading {scheme}:// takes the package {package}, which is not installed.</source>
   <translation>{scheme}:// পড়তে {package} প্যাকেজ লাগে, যা ইনস্টল করা নেই।</translation>
  </message>
  <message>
   <source>Reads from</source>
   <translation>যেখান থেকে পড়ে</translation>
  </message>
  <message>
   <source>Ready</source>
   <translation>প্রস্তুত</translation>
  </message>
  <message>
   <source>Recipe</source>
   <translation>রেসিপি</translation>
  </message>
  <message>
   <source>Refused</source>
   <translation>ফিরিয়ে দেওয়া হয়েছে</translation>
  </message>
  <message>
   <source>Refused the last time</source>
   <translation>গতবার ফিরিয়ে দেওয়া হয়েছে</translation>
  </message>
  <message>
   <source>Release one first, or ban them.</source>
   <translation>আগে একটিকে ছাড়ুন, বা নিষেধ করুন।</translation>
  </message>
  <message>
   <source>Remove Potluck</source>
   <translation>Potluck সরানো</translation>
  </message>
  <message>
   <source>Remove one first, with --no-mirror.</source>
   <translation>আগে --no-mirror দিয়ে একটি সরান।</translation>
  </message>
  <message>
   <source>Remove one first.</source>
   <translation>আগে একজনকে সরান।</translation>
  </message>
  <message>
   <source>Remove the training part?</source>
   <translation>প্রশিক্ষণ অংশ সরাবেন?</translation>
  </message>
  <message>
   <source>Removing it…</source>
   <translation>সরানো হচ্ছে…</translation>
  </message>
  <message>
   <source>Rename the folder.</source>
   <translation>ফোল্ডারের নাম বদলান।</translation>
  </message>
  <message>
   <source>Report</source>
   <translation>প্রতিবেদন</translation>
  </message>
  <message>
   <source>Rest above a power of</source>
   <translation>বিশ্রাম, শক্তি এর বেশি হলে</translation>
  </message>
  <message>
   <source>Rest be&amp;low</source>
   <translation>বিশ্রাম, এর কম হলে (&amp;L)</translation>
  </message>
  <message>
   <source>Rest the car&amp;d while these run</source>
   <translation>এগুলো চললে কার্ডের বিশ্রাম (&amp;D)</translation>
  </message>
  <message>
   <source>Rest the card when they need more than</source>
   <translation>কার্ডের বিশ্রাম, এদের এর বেশি লাগলে</translation>
  </message>
  <message>
   <source>Rest when a &amp;fan does more than</source>
   <translation>বিশ্রাম, পাখা এর বেশি ঘুরলে (&amp;F)</translation>
  </message>
  <message>
   <source>Rest when h&amp;otter than</source>
   <translation>বিশ্রাম, এর বেশি গরম হলে (&amp;O)</translation>
  </message>
  <message>
   <source>Rest when it is &amp;above</source>
   <translation>বিশ্রাম, এর বেশি হলে (&amp;A)</translation>
  </message>
  <message>
   <source>Rest when it is &amp;below</source>
   <translation>বিশ্রাম, এর কম হলে (&amp;B)</translation>
  </message>
  <message>
   <source>Rest when other programs need more than</source>
   <translation>বিশ্রাম, অন্য প্রোগ্রামের এর বেশি লাগলে</translation>
  </message>
  <message>
   <source>Rest while a program &amp;fills the screen</source>
   <translation>কোনো প্রোগ্রাম পুরো পর্দা জুড়ে থাকলে বিশ্রাম (&amp;F)</translation>
  </message>
  <message>
   <source>Rest while the computer runs on its &amp;battery</source>
   <translation>কম্পিউটার ব্যাটারিতে চললে বিশ্রাম (&amp;B)</translation>
  </message>
  <message>
   <source>Rest while these &amp;run</source>
   <translation>এগুলো চললে বিশ্রাম (&amp;R)</translation>
  </message>
  <message>
   <source>Resting</source>
   <translation>বিশ্রামে</translation>
  </message>
  <message>
   <source>Restore a backup of it: potluck restore --help</source>
   <translation>এর একটি ব্যাকআপ ফেরান: potluck restore --help</translation>
  </message>
  <message>
   <source>Restore a backup.</source>
   <translation>একটি ব্যাকআপ ফেরান।</translation>
  </message>
  <message>
   <source>Rests: Potluck is paused</source>
   <translation>বিশ্রামে: Potluck থেমে আছে</translation>
  </message>
  <message>
   <source>Resume contributing, then try again.</source>
   <translation>অবদান আবার শুরু করুন, তারপর আবার চেষ্টা করুন।</translation>
  </message>
  <message>
   <source>Resuming…</source>
   <translation>আবার চলছে…</translation>
  </message>
  <message>
   <source>Retire one first.</source>
   <translation>আগে একটিকে অবসরে পাঠান।</translation>
  </message>
  <message>
   <source>Role</source>
   <translation>ভূমিকা</translation>
  </message>
  <message>
   <source>Roles by which nobody gives passes.</source>
   <translation>যেসব ভূমিকায় কেউ পাস দেয় না।</translation>
  </message>
  <message>
   <source>Roles that do not follow those that are known.</source>
   <translation>যেসব ভূমিকা জানা ভূমিকাগুলোর পরে আসে না।</translation>
  </message>
  <message>
   <source>Rounds</source>
   <translation>রাউন্ড</translation>
  </message>
  <message>
   <source>Rows count from 0.</source>
   <translation>সারি 0 থেকে গোনা হয়।</translation>
  </message>
  <message>
   <source>Rules about what the system does not tell stop nothing here: {rules}.</source>
   <translation>সিস্টেম যা বলে না তা নিয়ে নিয়ম এখানে কিছুই থামায় না: {rules}।</translation>
  </message>
  <message>
   <source>Rules of your own: none of the three.</source>
   <translation>আপনার নিজের নিয়ম: তিনটির কোনোটিই নয়।</translation>
  </message>
  <message>
   <source>S&amp;top it now</source>
   <translation>এখনই থামান (&amp;T)</translation>
  </message>
  <message>
   <source>SSH does not reach {computer}.</source>
   <translation>SSH {computer}-এ পৌঁছায় না।</translation>
  </message>
  <message>
   <source>Samples</source>
   <translation>নমুনা</translation>
  </message>
  <message>
   <source>Samples/s</source>
   <translation>নমুনা/s</translation>
  </message>
  <message>
   <source>Saturday</source>
   <translation>শনিবার</translation>
  </message>
  <message>
   <source>Say it in {letters} letters.</source>
   <translation>{letters}টি অক্ষরে বলুন।</translation>
  </message>
  <message>
   <source>Say it in {most}.</source>
   <translation>{most}-এর মধ্যে বলুন।</translation>
  </message>
  <message>
   <source>Say the days first, as in: {example}</source>
   <translation>আগে দিন বলুন, যেমন: {example}</translation>
  </message>
  <message>
   <source>Say who is meant: a name or a key, or some of --invitation, --household and --since.</source>
   <translation>কাকে বোঝানো হয়েছে বলুন: একটি নাম বা চাবি, বা --invitation, --household ও --since-এর কয়েকটি।</translation>
  </message>
  <message>
   <source>Say whom they are for: --yes N or --no N</source>
   <translation>কার জন্য বলুন: --yes N বা --no N</translation>
  </message>
  <message>
   <source>Say yes or no.</source>
   <translation>হ্যাঁ বা না বলুন।</translation>
  </message>
  <message>
   <source>Schedules count samples: write ..._samples.</source>
   <translation>সময়সূচি নমুনা গোনে: ..._samples লিখুন।</translation>
  </message>
  <message>
   <source>See docs/organiser.md, Ways in.</source>
   <translation>docs/organiser.md-এ Ways in দেখুন।</translation>
  </message>
  <message>
   <source>See it with: potluck status. Stop it with: potluck quit.</source>
   <translation>এভাবে দেখুন: potluck status। এভাবে থামান: potluck quit।</translation>
  </message>
  <message>
   <source>See that PostgreSQL runs there and lets Potluck in.</source>
   <translation>দেখুন সেখানে PostgreSQL চলছে ও Potluck-কে ঢুকতে দেয় কি না।</translation>
  </message>
  <message>
   <source>See that this computer's clock is right, and try again later or in another network.</source>
   <translation>দেখুন এই কম্পিউটারের ঘড়ি ঠিক কি না, আর পরে বা অন্য নেটওয়ার্কে আবার চেষ্টা করুন।</translation>
  </message>
  <message>
   <source>See the recipes that come along.</source>
   <translation>সঙ্গে আসা রেসিপিগুলো দেখুন।</translation>
  </message>
  <message>
   <source>See them with: potluck collaborations</source>
   <translation>এভাবে দেখুন: potluck collaborations</translation>
  </message>
  <message>
   <source>See those of this computer with: potluck collaborations</source>
   <translation>এই কম্পিউটারেরগুলো এভাবে দেখুন: potluck collaborations</translation>
  </message>
  <message>
   <source>See what can be had: potluck training-part show</source>
   <translation>কী পাওয়া যায় দেখুন: potluck training-part show</translation>
  </message>
  <message>
   <source>See what happened</source>
   <translation>কী ঘটেছে দেখুন</translation>
  </message>
  <message>
   <source>See what holds with: potluck moderate</source>
   <translation>কী খাটে দেখুন: potluck moderate</translation>
  </message>
  <message>
   <source>See: {prog} --help</source>
   <translation>দেখুন: {prog} --help</translation>
  </message>
  <message>
   <source>Seen in</source>
   <translation>যেখানে দেখা গেছে</translation>
  </message>
  <message>
   <source>Send it to those whom you invite, or let them scan it.</source>
   <translation>যাঁদের আমন্ত্রণ জানাচ্ছেন তাঁদের পাঠান, বা স্ক্যান করতে দিন।</translation>
  </message>
  <message>
   <source>Send this text to those who make Potluck, if you want it mended: they do not have it. Your folders and links are left out of it.</source>
   <translation>এটি ঠিক করাতে চাইলে যাঁরা Potluck বানান তাঁদের এই লেখা পাঠান: তাঁদের কাছে এটি নেই। আপনার ফোল্ডার ও লিংক এতে বাদ।</translation>
  </message>
  <message>
   <source>Sending a model needs your token of the hub, and there is none.</source>
   <translation>মডেল পাঠাতে হাবে আপনার টোকেন লাগে, আর তা নেই।</translation>
  </message>
  <message>
   <source>Sending a model needs {name}, which is not installed.</source>
   <translation>মডেল পাঠাতে {name} লাগে, যা ইনস্টল করা নেই।</translation>
  </message>
  <message>
   <source>Serve this</source>
   <translation>এটিতে কাজ করুন</translation>
  </message>
  <message>
   <source>Set the clock, then: potluck update</source>
   <translation>ঘড়ি ঠিক করুন, তারপর: potluck update</translation>
  </message>
  <message>
   <source>Set this computer's clock.</source>
   <translation>এই কম্পিউটারের ঘড়ি ঠিক করুন।</translation>
  </message>
  <message>
   <source>Set {token} to it anew.</source>
   <translation>{token} নতুন করে এতে দিন।</translation>
  </message>
  <message>
   <source>Settings</source>
   <translation>সেটিংস</translation>
  </message>
  <message>
   <source>Several collaborations are called {name}.</source>
   <translation>কয়েকটি প্রকল্পের নাম {name}।</translation>
  </message>
  <message>
   <source>Several runs come one after the other, so each needs an end.</source>
   <translation>একাধিকবার চালালে একটির পরে একটি হয়, তাই প্রতিটির শেষ থাকতে হবে।</translation>
  </message>
  <message>
   <source>Several values are for: potluck train</source>
   <translation>একাধিক মান এর জন্য: potluck train</translation>
  </message>
  <message>
   <source>Shards are 0 to {count}.</source>
   <translation>খণ্ড 0 থেকে {count}।</translation>
  </message>
  <message>
   <source>Share</source>
   <translation>ভাগ</translation>
  </message>
  <message>
   <source>Show &amp;what happened</source>
   <translation>কী ঘটেছে দেখান (&amp;W)</translation>
  </message>
  <message>
   <source>Sign</source>
   <translation>সই করুন</translation>
  </message>
  <message>
   <source>Sign &amp;out</source>
   <translation>সাইন আউট (&amp;O)</translation>
  </message>
  <message>
   <source>Sign &amp;out of this computer…</source>
   <translation>এই কম্পিউটার থেকে সাইন আউট (&amp;O)…</translation>
  </message>
  <message>
   <source>Sign in</source>
   <translation>সাইন ইন</translation>
  </message>
  <message>
   <source>Sign in again after that, or ask the organiser.</source>
   <translation>তার পরে আবার সাইন ইন করুন, বা আয়োজককে জিজ্ঞাসা করুন।</translation>
  </message>
  <message>
   <source>Sign in again another day.</source>
   <translation>অন্য দিন আবার সাইন ইন করুন।</translation>
  </message>
  <message>
   <source>Sign in again tomorrow.</source>
   <translation>কাল আবার সাইন ইন করুন।</translation>
  </message>
  <message>
   <source>Sign in again, or use a link of another computer of yours, or another home (--home).</source>
   <translation>আবার সাইন ইন করুন, বা আপনার অন্য কম্পিউটারের লিংক নিন, বা অন্য হোম (--home)।</translation>
  </message>
  <message>
   <source>Sign in again, with the name as you first wrote it.</source>
   <translation>প্রথমে যে নাম লিখেছিলেন তা দিয়ে আবার সাইন ইন করুন।</translation>
  </message>
  <message>
   <source>Sign in again.</source>
   <translation>আবার সাইন ইন করুন।</translation>
  </message>
  <message>
   <source>Sign in again; what was downloaded is kept.</source>
   <translation>আবার সাইন ইন করুন; যা ডাউনলোড হয়েছে তা থাকে।</translation>
  </message>
  <message>
   <source>Sign in at {site} with this code:</source>
   <translation>{site}-এ এই কোড দিয়ে সাইন ইন করুন:</translation>
  </message>
  <message>
   <source>Sign out of this computer?</source>
   <translation>এই কম্পিউটার থেকে সাইন আউট করবেন?</translation>
  </message>
  <message>
   <source>Sign: I am here</source>
   <translation>সই করুন: আমি আছি</translation>
  </message>
  <message>
   <source>Signatures do not fit</source>
   <translation>সই মেলে না</translation>
  </message>
  <message>
   <source>Signed by nobody else</source>
   <translation>আর কেউ সই করেনি</translation>
  </message>
  <message>
   <source>Signed by {names}; {count} missing, until {until}.</source>
   <translation>সই করেছেন {names}; {count} জন বাকি, {until} পর্যন্ত।</translation>
  </message>
  <message>
   <source>Since you came it went from {before} to {now} {guesses} right.</source>
   <translation>আপনি আসার পর থেকে তা {before} থেকে {now} {guesses} ঠিক হয়েছে।</translation>
  </message>
  <message>
   <source>Since you came its loss went from {before} to {now}.</source>
   <translation>আপনি আসার পর থেকে এর লস {before} থেকে {now} হয়েছে।</translation>
  </message>
  <message>
   <source>Some may live nowhere yet: the more volunteers, the more live. To export without them, add --incomplete.</source>
   <translation>কিছু হয়তো এখনও কোথাও নেই: স্বেচ্ছাসেবক যত বেশি, তত বেশি চালু। এগুলি ছাড়া রপ্তানি করতে --incomplete যোগ করুন।</translation>
  </message>
  <message>
   <source>Some of the shards that {index} lists do not lie beside it, or have changed.</source>
   <translation>{index} যেসব খণ্ডের তালিকা দেয় তার কয়েকটি পাশে নেই, বা বদলে গেছে।</translation>
  </message>
  <message>
   <source>Somebody has changed the files, or the disk has; do not count these receipts.</source>
   <translation>কেউ বা ডিস্ক ফাইলগুলো বদলে দিয়েছে; এই রসিদগুলো গুনবেন না।</translation>
  </message>
  <message>
   <source>Somebody has said in the browser that this computer is not theirs.</source>
   <translation>কেউ ব্রাউজারে বলেছেন এই কম্পিউটার তাঁর নয়।</translation>
  </message>
  <message>
   <source>Somebody has tried to sign in too often from your address, or with your account.</source>
   <translation>কেউ আপনার ঠিকানা থেকে বা আপনার অ্যাকাউন্ট দিয়ে খুব বেশি বার সাইন ইন করতে চেয়েছে।</translation>
  </message>
  <message>
   <source>Somebody is at this computer now.</source>
   <translation>কেউ এখন এই কম্পিউটারে আছেন।</translation>
  </message>
  <message>
   <source>Somebody uses it from afar.</source>
   <translation>কেউ দূর থেকে এটি ব্যবহার করছেন।</translation>
  </message>
  <message>
   <source>Somebody whom you trust may have a list: a file, or an address. Potluck has none of its own, and asks nobody before you open one.</source>
   <translation>আপনার বিশ্বস্ত কারও কাছে তালিকা থাকতে পারে: একটি ফাইল, বা একটি ঠিকানা। Potluck-এর নিজের কোনো তালিকা নেই, আর আপনি একটি না খোলা পর্যন্ত কাউকে জিজ্ঞাসা করে না।</translation>
  </message>
  <message>
   <source>Something is missing here: {name}</source>
   <translation>এখানে কিছু নেই: {name}</translation>
  </message>
  <message>
   <source>Something went wrong inside Potluck.</source>
   <translation>Potluck-এর ভিতরে কিছু ভুল হয়েছে।</translation>
  </message>
  <message>
   <source>Sources are 0 to {count}.</source>
   <translation>উৎস 0 থেকে {count}।</translation>
  </message>
  <message>
   <source>Start &amp;Potluck, hidden, when I log in</source>
   <translation>লগইন করলে Potluck লুকিয়ে চালু হোক (&amp;P)</translation>
  </message>
  <message>
   <source>Start Potluck again; the log {logs} says why.</source>
   <translation>Potluck আবার চালু করুন; কেন তা {logs} লগে লেখা আছে।</translation>
  </message>
  <message>
   <source>Start again.</source>
   <translation>আবার শুরু করুন।</translation>
  </message>
  <message>
   <source>Start it once with potluck backbone --charter {folder}, then stop it.</source>
   <translation>একবার potluck backbone --charter {folder} দিয়ে চালু করুন, তারপর থামান।</translation>
  </message>
  <message>
   <source>Start it with: potluck</source>
   <translation>এভাবে চালু করুন: potluck</translation>
  </message>
  <message>
   <source>Start its backbone</source>
   <translation>এর ব্যাকবোন চালু করুন</translation>
  </message>
  <message>
   <source>Start one there with: potluck engine - or name its home with --far-home</source>
   <translation>সেখানে একটি চালু করুন: potluck engine - বা --far-home দিয়ে তার হোমের নাম দিন</translation>
  </message>
  <message>
   <source>Start one with friends</source>
   <translation>বন্ধুদের নিয়ে একটি শুরু করুন</translation>
  </message>
  <message>
   <source>Start one with friends: the link</source>
   <translation>বন্ধুদের নিয়ে শুরু: লিংক</translation>
  </message>
  <message>
   <source>Start one with friends: what to train</source>
   <translation>বন্ধুদের নিয়ে শুরু: কী প্রশিক্ষণ হবে</translation>
  </message>
  <message>
   <source>Start one with friends: where it is reached</source>
   <translation>বন্ধুদের নিয়ে শুরু: কোথায় পৌঁছানো যায়</translation>
  </message>
  <message>
   <source>Start one with friends: who may join</source>
   <translation>বন্ধুদের নিয়ে শুরু: কে যোগ দিতে পারেন</translation>
  </message>
  <message>
   <source>Start the engine</source>
   <translation>ইঞ্জিন চালু করা</translation>
  </message>
  <message>
   <source>Starting</source>
   <translation>চালু হচ্ছে</translation>
  </message>
  <message>
   <source>Starting the engine: the part of Potluck that trains and talks to the others.</source>
   <translation>ইঞ্জিন চালু হচ্ছে: Potluck-এর যে অংশ প্রশিক্ষণ দেয় ও অন্যদের সঙ্গে কথা বলে।</translation>
  </message>
  <message>
   <source>Status: {words}</source>
   <translation>অবস্থা: {words}</translation>
  </message>
  <message>
   <source>Step of the model that is asked</source>
   <translation>যে ধাপের মডেলকে জিজ্ঞাসা করা হয়</translation>
  </message>
  <message>
   <source>Step {epoch} counted {weight} of this computer's {samples} samples: a computer that is new, or much faster than before, counts for more with each step, up to its share.</source>
   <translation>{epoch} নম্বর ধাপ এই কম্পিউটারের {samples}টি নমুনার {weight}টি গুনেছে: নতুন বা আগের চেয়ে অনেক দ্রুত কম্পিউটার প্রতি ধাপে আরও বেশি গোনা হয়, নিজের ভাগ পর্যন্ত।</translation>
  </message>
  <message>
   <source>Step {epoch} led to another state than that of others.</source>
   <translation>{epoch} ধাপ অন্যদের থেকে আলাদা অবস্থায় নিয়ে গেছে।</translation>
  </message>
  <message>
   <source>Step {epoch} led to numbers that are not finite, so it was undone.</source>
   <translation>ধাপ {epoch} এমন সংখ্যায় নিয়ে গেছে যা সসীম নয়, তাই ফিরিয়ে নেওয়া হয়েছে।</translation>
  </message>
  <message>
   <source>Step {epoch} was ordered after step {own}.</source>
   <translation>{own} ধাপের পরে {epoch} ধাপ নিতে বলা হয়েছিল।</translation>
  </message>
  <message>
   <source>Step {epoch}, signed by {signed} of {members}.</source>
   <translation>ধাপ {epoch}, {members} জনের মধ্যে {signed} জনের সই।</translation>
  </message>
  <message>
   <source>Step {epoch}: contributions that arrived only in part: {missing}.</source>
   <translation>ধাপ {epoch}: যেসব অবদান আংশিক পৌঁছেছে: {missing}।</translation>
  </message>
  <message>
   <source>Step {step}</source>
   <translation>ধাপ {step}</translation>
  </message>
  <message>
   <source>Step {step} of {last}</source>
   <translation>ধাপ {step}, মোট {last}</translation>
  </message>
  <message>
   <source>Stop downloading?</source>
   <translation>ডাউনলোড থামাবেন?</translation>
  </message>
  <message>
   <source>Stop founding {name}?</source>
   <translation>{name} শুরু করা থামাবেন?</translation>
  </message>
  <message>
   <source>Stop it first, with: potluck quit</source>
   <translation>আগে এভাবে থামান: potluck quit</translation>
  </message>
  <message>
   <source>Stop it with: potluck quit</source>
   <translation>এভাবে থামান: potluck quit</translation>
  </message>
  <message>
   <source>Stop its backbone…</source>
   <translation>এর ব্যাকবোন থামান…</translation>
  </message>
  <message>
   <source>Stop the backbone of {name}?</source>
   <translation>{name}-এর ব্যাকবোন থামাবেন?</translation>
  </message>
  <message>
   <source>Sunday</source>
   <translation>রবিবার</translation>
  </message>
  <message>
   <source>System</source>
   <translation>সিস্টেম</translation>
  </message>
  <message>
   <source>Ta&amp;ke it out</source>
   <translation>তুলে নিন (&amp;K)</translation>
  </message>
  <message>
   <source>Ta&amp;ke my account out…</source>
   <translation>আমার অ্যাকাউন্ট তুলে নিন (&amp;K)…</translation>
  </message>
  <message>
   <source>Take an earlier one.</source>
   <translation>আগের একটি নিন।</translation>
  </message>
  <message>
   <source>Take another index or network; if it stays so, tell the people who make Potluck.</source>
   <translation>অন্য সূচি বা নেটওয়ার্ক নিন; এমনই থাকলে যাঁরা Potluck বানান তাঁদের জানান।</translation>
  </message>
  <message>
   <source>Take another index, in pip's settings (PIP_INDEX_URL), or a folder: potluck training-part get --from FOLDER</source>
   <translation>pip-এর সেটিংসে (PIP_INDEX_URL) অন্য সূচি নিন, বা একটি ফোল্ডার: potluck training-part get --from FOLDER</translation>
  </message>
  <message>
   <source>Take four words or more that you draw by chance, {least} to {most} letters together.</source>
   <translation>দৈবভাবে তোলা চার বা বেশি শব্দ নিন, সব মিলে {least} থেকে {most}টি অক্ষর।</translation>
  </message>
  <message>
   <source>Take part with: potluck join LINK, or try it out with: potluck demo</source>
   <translation>অংশ নিতে: potluck join LINK, বা পরখ করতে: potluck demo</translation>
  </message>
  <message>
   <source>Take the one for the processor: potluck training-part get --build cpu</source>
   <translation>প্রসেসরেরটি নিন: potluck training-part get --build cpu</translation>
  </message>
  <message>
   <source>Take your account out?</source>
   <translation>আপনার অ্যাকাউন্ট তুলে নেবেন?</translation>
  </message>
  <message>
   <source>Taking part</source>
   <translation>অংশ নেওয়া</translation>
  </message>
  <message>
   <source>Teams on the &amp;web…</source>
   <translation>ওয়েবে দলগুলি (&amp;W)…</translation>
  </message>
  <message>
   <source>Tell the organiser, and do not open it.</source>
   <translation>আয়োজককে জানান, আর এটি খুলবেন না।</translation>
  </message>
  <message>
   <source>Tell the organiser, or ask for a link with an invitation.</source>
   <translation>আয়োজককে জানান, বা আমন্ত্রণসহ লিংক চান।</translation>
  </message>
  <message>
   <source>Tell the organiser, who has to cut the data again.</source>
   <translation>আয়োজককে জানান, তাঁকে ডেটা আবার কাটতে হবে।</translation>
  </message>
  <message>
   <source>Tell the organiser.</source>
   <translation>আয়োজককে জানান।</translation>
  </message>
  <message>
   <source>Text for the model</source>
   <translation>মডেলের জন্য লেখা</translation>
  </message>
  <message>
   <source>Text on the disk</source>
   <translation>ডিস্কে লেখা</translation>
  </message>
  <message>
   <source>Text to learn from</source>
   <translation>যে লেখা থেকে শেখে</translation>
  </message>
  <message>
   <source>Text: {flow}</source>
   <translation>লেখা: {flow}</translation>
  </message>
  <message>
   <source>Thank you</source>
   <translation>ধন্যবাদ</translation>
  </message>
  <message>
   <source>That is as much as a fridge takes in {number} days.</source>
   <translation>একটি ফ্রিজের {number} দিনে যত লাগে, তত।</translation>
  </message>
  <message>
   <source>That is as much as {number} charges of a phone take.</source>
   <translation>একটি ফোন {number} বার চার্জ করতে যত লাগে, তত।</translation>
  </message>
  <message>
   <source>That is not a valid password or token.</source>
   <translation>এটি খাটে এমন পাসওয়ার্ড বা টোকেন নয়।</translation>
  </message>
  <message>
   <source>The &amp;best that there is: a graphics card, else the processor</source>
   <translation>যা সবচেয়ে ভালো: গ্রাফিক্স কার্ড, না হলে প্রসেসর (&amp;B)</translation>
  </message>
  <message>
   <source>The &amp;graphics card rests</source>
   <translation>গ্রাফিক্স কার্ডের বিশ্রাম (&amp;G)</translation>
  </message>
  <message>
   <source>The &amp;processor rests</source>
   <translation>প্রসেসরের বিশ্রাম (&amp;P)</translation>
  </message>
  <message>
   <source>The &amp;training part…</source>
   <translation>প্রশিক্ষণ অংশ (&amp;T)…</translation>
  </message>
  <message>
   <source>The Potluck that runs in the background is of another version. Restart it, or stop it with: potluck quit</source>
   <translation>পিছনে যে Potluck চলছে তা অন্য সংস্করণের। আবার চালু করুন, বা থামান: potluck quit</translation>
  </message>
  <message>
   <source>The Potluck that runs is of another version.</source>
   <translation>যে Potluck চলছে তা অন্য সংস্করণের।</translation>
  </message>
  <message>
   <source>The access pass could not be renewed: {problem}</source>
   <translation>প্রবেশ-পাস নবায়ন করা যায়নি: {problem}</translation>
  </message>
  <message>
   <source>The access pass was not renewed: the backbone's clock is {time} {way} the time of all peers here. Tell the organiser.</source>
   <translation>প্রবেশ-পাস নবায়ন হয়নি: ব্যাকবোনের ঘড়ি এখানকার সবার সময়ের {time} {way}। আয়োজককে জানান।</translation>
  </message>
  <message>
   <source>The account could not be asked about.</source>
   <translation>অ্যাকাউন্টের কথা জিজ্ঞাসা করা যায়নি।</translation>
  </message>
  <message>
   <source>The address {where} in the link was passed over. {reason}</source>
   <translation>লিংকের {where} ঠিকানাটি বাদ দিয়ে যাওয়া হয়েছে। {reason}</translation>
  </message>
  <message>
   <source>The alphabet does not fit the numbers.</source>
   <translation>বর্ণমালা সংখ্যাগুলোর সঙ্গে মেলে না।</translation>
  </message>
  <message>
   <source>The averaged contribution holds numbers that are not finite, so it was refused.</source>
   <translation>গড় করা অবদানে সসীম নয় এমন সংখ্যা আছে, তাই ফিরিয়ে দেওয়া হয়েছে।</translation>
  </message>
  <message>
   <source>The backbone answered something unreadable ({status}).</source>
   <translation>ব্যাকবোন এমন উত্তর দিয়েছে যা পড়া যায় না ({status})।</translation>
  </message>
  <message>
   <source>The backbone answered {status} to {path}.</source>
   <translation>ব্যাকবোন {path}-এর উত্তরে {status} দিয়েছে।</translation>
  </message>
  <message>
   <source>The backbone did not start.</source>
   <translation>ব্যাকবোন চালু হয়নি।</translation>
  </message>
  <message>
   <source>The backbone gave the pass of another computer.</source>
   <translation>ব্যাকবোন অন্য কম্পিউটারের পাস দিয়েছে।</translation>
  </message>
  <message>
   <source>The backbone gives false lists of moderators.</source>
   <translation>ব্যাকবোন মডারেটরদের মিথ্যা তালিকা দেয়।</translation>
  </message>
  <message>
   <source>The backbone has lost its port to another program.</source>
   <translation>ব্যাকবোনের পোর্ট অন্য প্রোগ্রাম নিয়ে নিয়েছে।</translation>
  </message>
  <message>
   <source>The backbone itself cannot be shut out.</source>
   <translation>ব্যাকবোনকেই বাদ দেওয়া যায় না।</translation>
  </message>
  <message>
   <source>The backbone lets nobody in at present.</source>
   <translation>ব্যাকবোন এখন কাউকে ঢুকতে দেয় না।</translation>
  </message>
  <message>
   <source>The backbone names no address at which anybody could sign in.</source>
   <translation>ব্যাকবোন এমন কোনো ঠিকানা দেয় না যেখানে সাইন ইন করা যায়।</translation>
  </message>
  <message>
   <source>The backbone offers another collaboration than the link names.</source>
   <translation>লিংকে যে প্রকল্পের নাম, ব্যাকবোন তা নয়, অন্য একটি দেয়।</translation>
  </message>
  <message>
   <source>The backbone reads that copy.</source>
   <translation>ব্যাকবোন সেই কপি পড়ে।</translation>
  </message>
  <message>
   <source>The backbone tells an address at which no page can be.</source>
   <translation>ব্যাকবোন এমন ঠিকানা বলে যেখানে কোনো পাতা থাকতে পারে না।</translation>
  </message>
  <message>
   <source>The backbone tells of another copy than was asked for.</source>
   <translation>যা চাওয়া হয়েছিল ব্যাকবোন তা নয়, অন্য কপির কথা বলে।</translation>
  </message>
  <message>
   <source>The backbone's answer to {path} is longer than {most} bytes.</source>
   <translation>{path}-এ ব্যাকবোনের উত্তর {most} বাইটের চেয়ে বড়।</translation>
  </message>
  <message>
   <source>The backbone's key is damaged.</source>
   <translation>ব্যাকবোনের চাবি নষ্ট।</translation>
  </message>
  <message>
   <source>The backup {file} is damaged.</source>
   <translation>{file} ব্যাকআপটি নষ্ট।</translation>
  </message>
  <message>
   <source>The bars show who gave how much in the last 7 days.</source>
   <translation>দণ্ডগুলো দেখায় গত 7 দিনে কে কত দিয়েছেন।</translation>
  </message>
  <message>
   <source>The bars show who gave how much since {day}, when this computer first saw the leaderboard.</source>
   <translation>দণ্ডগুলো দেখায় {day} থেকে কে কত দিয়েছেন; এই কম্পিউটার তখন প্রথম লিডারবোর্ড দেখে।</translation>
  </message>
  <message>
   <source>The battery holds less than {percent} %. Potluck continues when it is plugged in.</source>
   <translation>ব্যাটারিতে {percent} %-এর কম আছে। চার্জে দিলে Potluck আবার চলবে।</translation>
  </message>
  <message>
   <source>The browser shows the code as well: compare them before you let this computer in.</source>
   <translation>ব্রাউজারও কোডটি দেখায়: এই কম্পিউটারকে ঢুকতে দেওয়ার আগে মিলিয়ে দেখুন।</translation>
  </message>
  <message>
   <source>The build {build} is here, but does not start: {why}</source>
   <translation>{build} সংস্করণ এখানে আছে, কিন্তু চালু হয় না: {why}</translation>
  </message>
  <message>
   <source>The certificate of {name} is not valid: {why}.</source>
   <translation>{name}-এর সার্টিফিকেট খাটে না: {why}।</translation>
  </message>
  <message>
   <source>The certificate request is not signed with the Ed25519 key that it names.</source>
   <translation>সার্টিফিকেটের অনুরোধে যে Ed25519 চাবির নাম, তা দিয়ে সই করা নয়।</translation>
  </message>
  <message>
   <source>The check could not be run. On the command line it is: potluck doctor</source>
   <translation>পরীক্ষা চালানো যায়নি। কমান্ডে তা হলো: potluck doctor</translation>
  </message>
  <message>
   <source>The checkpoint cannot be read: {error}.</source>
   <translation>চেকপয়েন্ট পড়া যায় না: {error}।</translation>
  </message>
  <message>
   <source>The checkpoint {name} cannot be read: {error}.</source>
   <translation>{name} চেকপয়েন্ট পড়া যায় না: {error}।</translation>
  </message>
  <message>
   <source>The checkpoint {name} holds another state than it should.</source>
   <translation>{name} চেকপয়েন্টে যে অবস্থা থাকার কথা তা নয়, অন্যটি আছে।</translation>
  </message>
  <message>
   <source>The checkpoint {name} holds something else than this model's state.</source>
   <translation>{name} চেকপয়েন্টে এই মডেলের অবস্থা নয়, অন্য কিছু আছে।</translation>
  </message>
  <message>
   <source>The checkpoint {name} is not what was written.</source>
   <translation>{name} চেকপয়েন্ট যা লেখা হয়েছিল তা নয়।</translation>
  </message>
  <message>
   <source>The checkpoint {name} is of another collaboration.</source>
   <translation>{name} চেকপয়েন্ট অন্য প্রকল্পের।</translation>
  </message>
  <message>
   <source>The checkpoint {name} is of another model.</source>
   <translation>{name} চেকপয়েন্ট অন্য মডেলের।</translation>
  </message>
  <message>
   <source>The checkpoint {name} was written by a newer version of Potluck.</source>
   <translation>{name} চেকপয়েন্ট Potluck-এর নতুনতর সংস্করণের লেখা।</translation>
  </message>
  <message>
   <source>The clock is kept right by the system.</source>
   <translation>সিস্টেম ঘড়ি ঠিক রাখে।</translation>
  </message>
  <message>
   <source>The clock shows a possible time; joining compares it with the collaboration's.</source>
   <translation>ঘড়িতে সম্ভব এমন সময়; যোগ দিলে প্রকল্পের সময়ের সঙ্গে মেলানো হয়।</translation>
  </message>
  <message>
   <source>The code is copied.</source>
   <translation>কোড কপি হয়েছে।</translation>
  </message>
  <message>
   <source>The collaboration</source>
   <translation>প্রকল্প</translation>
  </message>
  <message>
   <source>The collaboration and this computer</source>
   <translation>প্রকল্প ও এই কম্পিউটার</translation>
  </message>
  <message>
   <source>The collaboration could not be founded.</source>
   <translation>প্রকল্প শুরু করা যায়নি।</translation>
  </message>
  <message>
   <source>The collaboration gives the aggregator {name} numbers that it does not take.</source>
   <translation>প্রকল্প {name} অ্যাগ্রিগেটরকে এমন সংখ্যা দেয় যা সে নেয় না।</translation>
  </message>
  <message>
   <source>The collaboration has no source {source}.</source>
   <translation>প্রকল্পে {source} উৎস নেই।</translation>
  </message>
  <message>
   <source>The collaboration in {charter} names {count} indexes, and none of them for {address}.</source>
   <translation>{charter}-এর প্রকল্পে {count}টি সূচির নাম আছে, {address}-এর জন্য একটিও নেই।</translation>
  </message>
  <message>
   <source>The collaboration in {folder} cannot be read ({invitations}: No such file).</source>
   <translation>{folder}-এর প্রকল্প পড়া যায় না ({invitations}: ফাইল নেই)।</translation>
  </message>
  <message>
   <source>The collaboration in {folder} cannot be read ({why}).</source>
   <translation>{folder}-এর প্রকল্প পড়া যায় না ({why})।</translation>
  </message>
  <message>
   <source>The collaboration in {folder} has a damaged key.</source>
   <translation>{folder}-এর প্রকল্পের চাবি নষ্ট।</translation>
  </message>
  <message>
   <source>The collaboration uses a newer version of Potluck.</source>
   <translation>প্রকল্পটি Potluck-এর নতুনতর সংস্করণ ব্যবহার করে।</translation>
  </message>
  <message>
   <source>The collaboration uses an older version of Potluck.</source>
   <translation>প্রকল্পটি Potluck-এর পুরোনো সংস্করণ ব্যবহার করে।</translation>
  </message>
  <message>
   <source>The collaboration's file {name} cannot be read: {error}.</source>
   <translation>প্রকল্পের {name} ফাইল পড়া যায় না: {error}।</translation>
  </message>
  <message>
   <source>The collaboration's file {name} is damaged.</source>
   <translation>প্রকল্পের {name} ফাইল নষ্ট।</translation>
  </message>
  <message>
   <source>The collaboration's files are longer than {most} bytes.</source>
   <translation>প্রকল্পের ফাইলগুলো {most} বাইটের চেয়ে বড়।</translation>
  </message>
  <message>
   <source>The collaboration's files change all the time.</source>
   <translation>প্রকল্পের ফাইলগুলো সারাক্ষণ বদলাচ্ছে।</translation>
  </message>
  <message>
   <source>The command line does everything: potluck --help</source>
   <translation>কমান্ড দিয়ে সবই হয়: potluck --help</translation>
  </message>
  <message>
   <source>The computer at {where}</source>
   <translation>{where}-এর কম্পিউটার</translation>
  </message>
  <message>
   <source>The connection to {place} broke, and does not come back.</source>
   <translation>{place}-এর সংযোগ ছিঁড়ে গেছে, আর ফিরছে না।</translation>
  </message>
  <message>
   <source>The copy of the leaderboard could not be read; it comes again with the next state. The damaged file was kept as {name}.</source>
   <translation>লিডারবোর্ডের কপি পড়া যায়নি; পরের অবস্থার সঙ্গে আবার আসবে। নষ্ট ফাইলটি {name} নামে রাখা হয়েছে।</translation>
  </message>
  <message>
   <source>The copy of the model names another state than was promised.</source>
   <translation>মডেলের কপিতে যে অবস্থার কথা ছিল তা নয়, অন্যটি আছে।</translation>
  </message>
  <message>
   <source>The copy {name} is not a state.</source>
   <translation>{name} কপিটি কোনো অবস্থা নয়।</translation>
  </message>
  <message>
   <source>The copy {name} is not the one to which moderators want to go back.</source>
   <translation>মডারেটররা যে কপিতে ফিরতে চান, {name} তা নয়।</translation>
  </message>
  <message>
   <source>The copy {name} is not what was written.</source>
   <translation>{name} কপিটি যা লেখা হয়েছিল তা নয়।</translation>
  </message>
  <message>
   <source>The counts do not fit the manifest's numbers.</source>
   <translation>গোনাগুলো ম্যানিফেস্টের সংখ্যার সঙ্গে মেলে না।</translation>
  </message>
  <message>
   <source>The credentials of {address} cannot be used.</source>
   <translation>{address}-এর পরিচয়পত্র ব্যবহার করা যায় না।</translation>
  </message>
  <message>
   <source>The curve is empty: it begins with the first step.</source>
   <translation>রেখাটি খালি: প্রথম ধাপ থেকে শুরু হবে।</translation>
  </message>
  <message>
   <source>The curves show the loss{unit}: it is 0 for a model that never errs.</source>
   <translation>রেখাগুলো লস{unit} দেখায়: যে মডেল কখনও ভুল করে না তার 0।</translation>
  </message>
  <message>
   <source>The data are other ones than before, so reading begins anew.</source>
   <translation>ডেটা আগেরটি নয়, তাই নতুন করে পড়া শুরু হচ্ছে।</translation>
  </message>
  <message>
   <source>The database is busy.</source>
   <translation>ডেটাবেস ব্যস্ত।</translation>
  </message>
  <message>
   <source>The database of the page gives no answer.</source>
   <translation>পাতার ডেটাবেস উত্তর দেয় না।</translation>
  </message>
  <message>
   <source>The database {file} is gone.</source>
   <translation>{file} ডেটাবেস আর নেই।</translation>
  </message>
  <message>
   <source>The database {name} cannot be copied: {error}.</source>
   <translation>{name} ডেটাবেস কপি করা যায় না: {error}।</translation>
  </message>
  <message>
   <source>The database {place} cannot be used.</source>
   <translation>{place} ডেটাবেস ব্যবহার করা যায় না।</translation>
  </message>
  <message>
   <source>The database {place} is damaged.</source>
   <translation>{place} ডেটাবেস নষ্ট।</translation>
  </message>
  <message>
   <source>The device could not be used again: {error}</source>
   <translation>যন্ত্রটি আবার ব্যবহার করা যায়নি: {error}</translation>
  </message>
  <message>
   <source>The device {called} cannot be used: {reason}.</source>
   <translation>{called} যন্ত্র ব্যবহার করা যায় না: {reason}।</translation>
  </message>
  <message>
   <source>The device {device}</source>
   <translation>যন্ত্র {device}</translation>
  </message>
  <message>
   <source>The device {name} trains no more: {why}</source>
   <translation>{name} যন্ত্র আর প্রশিক্ষণ দেয় না: {why}</translation>
  </message>
  <message>
   <source>The disk is full.</source>
   <translation>ডিস্ক ভরে গেছে।</translation>
  </message>
  <message>
   <source>The disk is full: Potluck has no room for its files in {folder}. Free at least 200 MB there.</source>
   <translation>ডিস্ক ভরে গেছে: {folder}-এ Potluck-এর ফাইলের জায়গা নেই। সেখানে অন্তত 200 MB খালি করুন।</translation>
  </message>
  <message>
   <source>The disk of the database {place} is full.</source>
   <translation>{place} ডেটাবেসের ডিস্ক ভরে গেছে।</translation>
  </message>
  <message>
   <source>The drive of {folder} gives no locks: {error}.</source>
   <translation>{folder} যে ড্রাইভে আছে তা ফাইল লক করতে দেয় না: {error}।</translation>
  </message>
  <message>
   <source>The engine cannot be reached right now.</source>
   <translation>এখন ইঞ্জিনে পৌঁছানো যাচ্ছে না।</translation>
  </message>
  <message>
   <source>The engine could not be started: {why}.</source>
   <translation>ইঞ্জিন চালু করা যায়নি: {why}।</translation>
  </message>
  <message>
   <source>The engine did not start.</source>
   <translation>ইঞ্জিন চালু হয়নি।</translation>
  </message>
  <message>
   <source>The engine ended by itself.</source>
   <translation>ইঞ্জিন নিজে থেকে শেষ হয়েছে।</translation>
  </message>
  <message>
   <source>The engine ended by itself. It said: {line}</source>
   <translation>ইঞ্জিন নিজে থেকে শেষ হয়েছে। সে বলেছে: {line}</translation>
  </message>
  <message>
   <source>The engine has not joined a collaboration yet.</source>
   <translation>ইঞ্জিন এখনও কোনো প্রকল্পে যোগ দেয়নি।</translation>
  </message>
  <message>
   <source>The engine has stopped.</source>
   <translation>ইঞ্জিন থেমে গেছে।</translation>
  </message>
  <message>
   <source>The engine is starting; this window connects to it in a moment.</source>
   <translation>ইঞ্জিন চালু হচ্ছে; এই জানালা একটু পরেই তার সঙ্গে যুক্ত হবে।</translation>
  </message>
  <message>
   <source>The engine starts when you log in, without a window.</source>
   <translation>লগইনের সময় ইঞ্জিন চালু হয়, জানালা ছাড়া।</translation>
  </message>
  <message>
   <source>The engine was told to stop.</source>
   <translation>ইঞ্জিনকে থামতে বলা হয়েছে।</translation>
  </message>
  <message>
   <source>The engine, without a window</source>
   <translation>ইঞ্জিন, জানালা ছাড়া</translation>
  </message>
  <message>
   <source>The export in {folder} is whole. Check the connection and the token, then try again with --force.</source>
   <translation>{folder}-এর রপ্তানি সম্পূর্ণ। সংযোগ ও টোকেন দেখুন, তারপর --force দিয়ে আবার চেষ্টা করুন।</translation>
  </message>
  <message>
   <source>The file with this computer's key is damaged.</source>
   <translation>এই কম্পিউটারের চাবির ফাইল নষ্ট।</translation>
  </message>
  <message>
   <source>The file {name} of the collaboration in {folder} is missing or damaged.</source>
   <translation>{folder}-এর প্রকল্পের {name} ফাইল নেই বা নষ্ট।</translation>
  </message>
  <message>
   <source>The file {name} would not be read: Prometheus' node exporter reads files that end in .prom.</source>
   <translation>{name} ফাইল পড়া হতো না: Prometheus-এর node exporter শুধু .prom দিয়ে শেষ ফাইল পড়ে।</translation>
  </message>
  <message>
   <source>The file {records} of the collaboration in {folder} is damaged.</source>
   <translation>{folder}-এর প্রকল্পের {records} ফাইল নষ্ট।</translation>
  </message>
  <message>
   <source>The files in {address} have changed while they were cut.</source>
   <translation>কাটার সময় {address}-এর ফাইলগুলো বদলে গেছে।</translation>
  </message>
  <message>
   <source>The folder with the files</source>
   <translation>ফাইলের ফোল্ডার</translation>
  </message>
  <message>
   <source>The folder {folder} cannot be read.</source>
   <translation>{folder} ফোল্ডার পড়া যায় না।</translation>
  </message>
  <message>
   <source>The folder {folder} does not have {name} {version} for this computer.</source>
   <translation>{folder} ফোল্ডারে এই কম্পিউটারের জন্য {name} {version} নেই।</translation>
  </message>
  <message>
   <source>The folder {folder} holds an export already.</source>
   <translation>{folder} ফোল্ডারে আগেই একটি রপ্তানি আছে।</translation>
  </message>
  <message>
   <source>The folder {folder} holds no collaboration.</source>
   <translation>{folder} ফোল্ডারে কোনো প্রকল্প নেই।</translation>
  </message>
  <message>
   <source>The folder {folder} holds something that is not part of an export: {others}.</source>
   <translation>{folder} ফোল্ডারে এমন কিছু আছে যা রপ্তানির অংশ নয়: {others}।</translation>
  </message>
  <message>
   <source>The folder {folder} of this computer; only a start in a terminal allows it: potluck engine --text</source>
   <translation>এই কম্পিউটারের {folder} ফোল্ডার; শুধু টার্মিনাল থেকে চালু করলেই অনুমতি হয়: potluck engine --text</translation>
  </message>
  <message>
   <source>The graphics card rests while this computer is in use. Potluck continues when nobody has touched it for {minutes} min.</source>
   <translation>এই কম্পিউটার ব্যবহারের সময় গ্রাফিক্স কার্ড বিশ্রাম নেয়। {minutes} min কেউ না ছুঁলে Potluck আবার চলবে।</translation>
  </message>
  <message>
   <source>The graphics card rests while {program} runs, as you chose.</source>
   <translation>{program} চললে গ্রাফিক্স কার্ড বিশ্রাম নেয়, আপনি যেমন বেছেছেন।</translation>
  </message>
  <message>
   <source>The graphics card took more than {watts} W. Potluck continues in a minute or two.</source>
   <translation>গ্রাফিক্স কার্ড {watts} W-এর বেশি নিয়েছে। এক-দুই মিনিটে Potluck আবার চলবে।</translation>
  </message>
  <message>
   <source>The graphics card was hotter than {celsius} °C. Potluck continues when it has cooled down.</source>
   <translation>গ্রাফিক্স কার্ড {celsius} °C-এর বেশি গরম ছিল। ঠান্ডা হলে Potluck আবার চলবে।</translation>
  </message>
  <message>
   <source>The held-out images do not fit the numbers.</source>
   <translation>যাচাইয়ের ছবি সংখ্যাগুলোর সঙ্গে মেলে না।</translation>
  </message>
  <message>
   <source>The held-out text does not fit the numbers.</source>
   <translation>যাচাইয়ের লেখা সংখ্যাগুলোর সঙ্গে মেলে না।</translation>
  </message>
  <message>
   <source>The held-out text is too short to measure with.</source>
   <translation>যাচাইয়ের লেখা মাপার পক্ষে খুব ছোট।</translation>
  </message>
  <message>
   <source>The household of {words} is not known.</source>
   <translation>{words}-এর পরিবার জানা নেই।</translation>
  </message>
  <message>
   <source>The index {index} cannot be read: {error}.</source>
   <translation>{index} সূচি পড়া যায় না: {error}।</translation>
  </message>
  <message>
   <source>The invitation in this link cannot be read.</source>
   <translation>এই লিংকের আমন্ত্রণ পড়া যায় না।</translation>
  </message>
  <message>
   <source>The invitations of the collaboration in {folder} are damaged.</source>
   <translation>{folder}-এর প্রকল্পের আমন্ত্রণগুলো নষ্ট।</translation>
  </message>
  <message>
   <source>The kept description of the collaboration is not used. {why}</source>
   <translation>প্রকল্পের রাখা বিবরণ ব্যবহার হচ্ছে না। {why}</translation>
  </message>
  <message>
   <source>The kept list of whom the moderators have shut out is damaged.</source>
   <translation>মডারেটররা যাঁদের বাদ দিয়েছেন তাঁদের রাখা তালিকা নষ্ট।</translation>
  </message>
  <message>
   <source>The kept pass is not used. {why}</source>
   <translation>রাখা পাস ব্যবহার হচ্ছে না। {why}</translation>
  </message>
  <message>
   <source>The key of this backbone was in wrong hands.</source>
   <translation>এই ব্যাকবোনের চাবি ভুল হাতে পড়েছিল।</translation>
  </message>
  <message>
   <source>The last 14 days</source>
   <translation>গত 14 দিন</translation>
  </message>
  <message>
   <source>The last places of this invitation are held for computers that are about to come in.</source>
   <translation>এই আমন্ত্রণের শেষ জায়গাগুলো এখনই ঢুকছে এমন কম্পিউটারের জন্য রাখা।</translation>
  </message>
  <message>
   <source>The last saved state is untouched.</source>
   <translation>শেষ সংরক্ষিত অবস্থা অক্ষত আছে।</translation>
  </message>
  <message>
   <source>The last saved state is untouched; training goes on from there.</source>
   <translation>শেষ সংরক্ষিত অবস্থা অক্ষত আছে; প্রশিক্ষণ সেখান থেকে চলছে।</translation>
  </message>
  <message>
   <source>The last steps up to number {epoch} that this computer took were not kept: most others had gone on from an earlier one without it. It goes on with theirs.</source>
   <translation>{epoch} নম্বর পর্যন্ত এই কম্পিউটারের শেষ ধাপগুলো রাখা হয়নি: বেশির ভাগ অন্যরা এটি ছাড়াই আগের একটি থেকে এগিয়েছে। এটি তাদেরটি থেকে চলছে।</translation>
  </message>
  <message>
   <source>The link &amp;lasts</source>
   <translation>লিংকের মেয়াদ (&amp;L)</translation>
  </message>
  <message>
   <source>The link could not be looked at.</source>
   <translation>লিংকটি দেখা যায়নি।</translation>
  </message>
  <message>
   <source>The link is copied.</source>
   <translation>লিংক কপি হয়েছে।</translation>
  </message>
  <message>
   <source>The link lets &amp;in</source>
   <translation>লিংক ঢুকতে দেয় (&amp;I)</translation>
  </message>
  <message>
   <source>The links of the collaborations could not be read; the damaged file was kept as {name}.</source>
   <translation>প্রকল্পগুলোর লিংক পড়া যায়নি; নষ্ট ফাইলটি {name} নামে রাখা হয়েছে।</translation>
  </message>
  <message>
   <source>The list of the data's shards is not there.</source>
   <translation>ডেটার খণ্ডগুলোর তালিকা সেখানে নেই।</translation>
  </message>
  <message>
   <source>The list of versions is in a form that this Potluck does not know.</source>
   <translation>সংস্করণের তালিকা এমন রূপে যা এই Potluck চেনে না।</translation>
  </message>
  <message>
   <source>The lists of the data's shards give one shard two sizes.</source>
   <translation>ডেটার খণ্ডের তালিকাগুলো একটি খণ্ডের দুটি আকার দেয়।</translation>
  </message>
  <message>
   <source>The log says more.</source>
   <translation>লগে আরও লেখা আছে।</translation>
  </message>
  <message>
   <source>The log {logs} says more.</source>
   <translation>{logs} লগে আরও লেখা আছে।</translation>
  </message>
  <message>
   <source>The log {logs} says why.</source>
   <translation>কেন তা {logs} লগে লেখা আছে।</translation>
  </message>
  <message>
   <source>The manifest has {count} bytes; {most} are allowed.</source>
   <translation>ম্যানিফেস্ট {count} বাইট; {most} পর্যন্ত চলে।</translation>
  </message>
  <message>
   <source>The manifest lacks the file {name}.</source>
   <translation>ম্যানিফেস্টে {name} ফাইল নেই।</translation>
  </message>
  <message>
   <source>The manifest {path} cannot be read: {error}.</source>
   <translation>{path} ম্যানিফেস্ট পড়া যায় না: {error}।</translation>
  </message>
  <message>
   <source>The manifest's numbers do not fit the {of}: {error}.</source>
   <translation>ম্যানিফেস্টের সংখ্যা মেলে না ({of}): {error}।</translation>
  </message>
  <message>
   <source>The manifest's signature is wrong: somebody changed it after the organiser signed it.</source>
   <translation>ম্যানিফেস্টের সই ভুল: আয়োজক সই করার পরে কেউ এটি বদলেছে।</translation>
  </message>
  <message>
   <source>The mean of a round cannot be read: {error}.</source>
   <translation>একটি রাউন্ডের গড় পড়া যায় না: {error}।</translation>
  </message>
  <message>
   <source>The mean of a round could not be read, or nobody had asked for it.</source>
   <translation>একটি রাউন্ডের গড় পড়া যায়নি, বা কেউ তা চায়নি।</translation>
  </message>
  <message>
   <source>The measurement ended without a result.</source>
   <translation>মাপা ফল ছাড়াই শেষ হয়েছে।</translation>
  </message>
  <message>
   <source>The message is not JSON.</source>
   <translation>বার্তাটি JSON নয়।</translation>
  </message>
  <message>
   <source>The message is not a valid request: {error}.</source>
   <translation>বার্তাটি খাটে এমন অনুরোধ নয়: {error}।</translation>
  </message>
  <message>
   <source>The model</source>
   <translation>মডেল</translation>
  </message>
  <message>
   <source>The model after step {epoch} is in {folder}.</source>
   <translation>{epoch} ধাপের পরের মডেল {folder}-এ আছে।</translation>
  </message>
  <message>
   <source>The model cannot be read: {error}.</source>
   <translation>মডেল পড়া যায় না: {error}।</translation>
  </message>
  <message>
   <source>The model differs from this task's: its {name} is {own}, and must be {other}.</source>
   <translation>মডেলটি এই কাজের মডেল থেকে আলাদা: এর {name} {own}, হওয়া চাই {other}।</translation>
  </message>
  <message>
   <source>The model gave no answer.</source>
   <translation>মডেল উত্তর দেয়নি।</translation>
  </message>
  <message>
   <source>The model gives numbers that are not finite.</source>
   <translation>মডেল সসীম নয় এমন সংখ্যা দেয়।</translation>
  </message>
  <message>
   <source>The model has taken its first step with your work in it.</source>
   <translation>মডেল আপনার কাজ নিয়ে তার প্রথম ধাপ নিয়েছে।</translation>
  </message>
  <message>
   <source>The model in {folder} cannot be read: {error}.</source>
   <translation>{folder}-এর মডেল পড়া যায় না: {error}।</translation>
  </message>
  <message>
   <source>The model in {folder} cannot be read: {why}.</source>
   <translation>{folder}-এর মডেল পড়া যায় না: {why}।</translation>
  </message>
  <message>
   <source>The model in {folder} lacks parameters, such as {lacking}.</source>
   <translation>{folder}-এর মডেলে কিছু প্যারামিটার নেই, যেমন {lacking}।</translation>
  </message>
  <message>
   <source>The model is kept after these steps: {steps}</source>
   <translation>এই ধাপগুলোর পরের মডেল রাখা আছে: {steps}</translation>
  </message>
  <message>
   <source>The model is of the kind {found}, and this task trains the kind {wanted}.</source>
   <translation>মডেলটি {found} ধরনের, আর এই কাজ {wanted} ধরনের প্রশিক্ষণ দেয়।</translation>
  </message>
  <message>
   <source>The model knows {vocab_size} pieces of text, and its tokenizer {pieces}.</source>
   <translation>মডেল লেখার {vocab_size}টি টুকরো জানে, আর এর টোকেনাইজার {pieces}টি।</translation>
  </message>
  <message>
   <source>The model of step {epoch} is not kept on this computer.</source>
   <translation>{epoch} ধাপের মডেল এই কম্পিউটারে রাখা নেই।</translation>
  </message>
  <message>
   <source>The model on this computer is asked…</source>
   <translation>এই কম্পিউটারের মডেলকে জিজ্ঞাসা করা হচ্ছে…</translation>
  </message>
  <message>
   <source>The model takes a step when {samples} of them are computed, on all computers together.</source>
   <translation>সব কম্পিউটার মিলে {samples}টির হিসাব হলে মডেল এক ধাপ এগোয়।</translation>
  </message>
  <message>
   <source>The model to begin with has its tokenizer.</source>
   <translation>শুরু করার মডেলের নিজের টোকেনাইজার আছে।</translation>
  </message>
  <message>
   <source>The model to which this proposal goes back does not come from any copy here.</source>
   <translation>এই প্রস্তাব যে মডেলে ফিরে যায়, তা এখানকার কোনো অনুলিপি থেকে আসে না।</translation>
  </message>
  <message>
   <source>The model was not saved.</source>
   <translation>মডেল সংরক্ষণ হয়নি।</translation>
  </message>
  <message>
   <source>The model was not sent to {endpoint}: {why}.</source>
   <translation>মডেল {endpoint}-এ পাঠানো হয়নি: {why}।</translation>
  </message>
  <message>
   <source>The model's loss is not a finite number.</source>
   <translation>মডেলের লস সসীম সংখ্যা নয়।</translation>
  </message>
  <message>
   <source>The model's vocabulary is not letters.</source>
   <translation>মডেলের শব্দভান্ডার অক্ষরের নয়।</translation>
  </message>
  <message>
   <source>The model, as numbers, files that the collaboration names by their digest, such as a vocabulary, and text to learn from, from the addresses that you saw before you joined. Never programs: new code comes with a new version of Potluck only, which the people who make it have signed.</source>
   <translation>সংখ্যা হিসেবে মডেল, প্রকল্প ডাইজেস্ট দিয়ে যেসব ফাইলের নাম দেয় যেমন শব্দভান্ডার, আর শেখার লেখা, যোগ দেওয়ার আগে দেখা ঠিকানাগুলো থেকে। কখনও প্রোগ্রাম নয়: নতুন কোড শুধু Potluck-এর নতুন সংস্করণে আসে, যাতে এর নির্মাতারা সই করেছেন।</translation>
  </message>
  <message>
   <source>The moderators have changed as often as they can.</source>
   <translation>মডারেটররা যতবার বদলাতে পারেন ততবার বদলেছেন।</translation>
  </message>
  <message>
   <source>The moderators have ended the passes of the backbone that let {username} in.</source>
   <translation>যে ব্যাকবোন {username}-কে ঢুকতে দিয়েছে মডারেটররা তার পাসগুলো শেষ করেছেন।</translation>
  </message>
  <message>
   <source>The moderators have ended this backbone: it lets nobody in any more.</source>
   <translation>মডারেটররা এই ব্যাকবোন শেষ করেছেন: এটি আর কাউকে ঢুকতে দেয় না।</translation>
  </message>
  <message>
   <source>The moderators have ended {collaboration}, and name another one that goes on. Nothing is computed for that one before you say yes. Thank you for what you gave. {words}</source>
   <translation>মডারেটররা {collaboration} শেষ করেছেন, আর এগিয়ে চলে এমন একটির নাম দিয়েছেন। আপনি হ্যাঁ না বললে সেটির জন্য কিছু হিসাব হয় না। আপনি যা দিয়েছেন তার জন্য ধন্যবাদ। {words}</translation>
  </message>
  <message>
   <source>The moderators have ended {collaboration}. Thank you for what you gave to it. {words}</source>
   <translation>মডারেটররা {collaboration} শেষ করেছেন। আপনি এতে যা দিয়েছেন তার জন্য ধন্যবাদ। {words}</translation>
  </message>
  <message>
   <source>The moderators have had everybody go back to step {epoch}; what came after it counts no more. {words}</source>
   <translation>মডারেটররা সবাইকে {epoch} নম্বর ধাপে ফিরিয়েছেন; তার পরে যা এসেছে তা আর গোনা হয় না। {words}</translation>
  </message>
  <message>
   <source>The moderators have paused {collaboration}: nothing is computed until they go on. {words}</source>
   <translation>মডারেটররা {collaboration} থামিয়েছেন: তাঁরা আবার না চালানো পর্যন্ত কিছু হিসাব হয় না। {words}</translation>
  </message>
  <message>
   <source>The moderators have shut your account out.</source>
   <translation>মডারেটররা আপনার অ্যাকাউন্ট বাদ দিয়েছেন।</translation>
  </message>
  <message>
   <source>The moderators let nobody new in at present.</source>
   <translation>মডারেটররা এখন নতুন কাউকে ঢুকতে দেন না।</translation>
  </message>
  <message>
   <source>The moderators say: {words}</source>
   <translation>মডারেটররা বলেন: {words}</translation>
  </message>
  <message>
   <source>The month's limit for the network is used up. Potluck continues with the next month.</source>
   <translation>নেটওয়ার্কের মাসিক সীমা শেষ। আগামী মাসে Potluck আবার চলবে।</translation>
  </message>
  <message>
   <source>The name and the passphrase do not belong together.</source>
   <translation>নাম ও পাসফ্রেজ একে অন্যের নয়।</translation>
  </message>
  <message>
   <source>The name of a backbone is too long.</source>
   <translation>একটি ব্যাকবোনের নাম খুব লম্বা।</translation>
  </message>
  <message>
   <source>The name of this folder has letters that cannot be shown.</source>
   <translation>এই ফোল্ডারের নামে এমন অক্ষর আছে যা দেখানো যায় না।</translation>
  </message>
  <message>
   <source>The name or address of a backbone cannot be shown.</source>
   <translation>একটি ব্যাকবোনের নাম বা ঠিকানা দেখানো যায় না।</translation>
  </message>
  <message>
   <source>The name {name} belongs to somebody else here.</source>
   <translation>{name} নামটি এখানে অন্য কারও।</translation>
  </message>
  <message>
   <source>The name {name} cannot be used.</source>
   <translation>{name} নামটি ব্যবহার করা যায় না।</translation>
  </message>
  <message>
   <source>The name {name} mixes letters of several alphabets.</source>
   <translation>{name} নামে কয়েক লিপির অক্ষর মেশানো।</translation>
  </message>
  <message>
   <source>The name {username} cannot be used.</source>
   <translation>{username} নামটি ব্যবহার করা যায় না।</translation>
  </message>
  <message>
   <source>The new version cannot be unpacked, so it was not installed.</source>
   <translation>নতুন সংস্করণ খোলা যায় না, তাই ইনস্টল হয়নি।</translation>
  </message>
  <message>
   <source>The new version does not start on this computer, so it was not installed.</source>
   <translation>নতুন সংস্করণ এই কম্পিউটারে চালু হয় না, তাই ইনস্টল হয়নি।</translation>
  </message>
  <message>
   <source>The new version is larger than its publisher says, so it was not installed.</source>
   <translation>নতুন সংস্করণ তার প্রকাশক যা বলেন তার চেয়ে বড়, তাই ইনস্টল হয়নি।</translation>
  </message>
  <message>
   <source>The new version needs {needed} GB of the disk for a while, and {free} GB are free.</source>
   <translation>নতুন সংস্করণের কিছুক্ষণ ডিস্কের {needed} GB লাগে, আর {free} GB খালি আছে।</translation>
  </message>
  <message>
   <source>The newest model is written…</source>
   <translation>সবচেয়ে নতুন মডেল লেখা হচ্ছে…</translation>
  </message>
  <message>
   <source>The newest model of {name} here cannot be used. {fault}</source>
   <translation>এখানে {name}-এর সবচেয়ে নতুন মডেল ব্যবহার করা যায় না। {fault}</translation>
  </message>
  <message>
   <source>The newest model on this computer is loaded: this takes some seconds…</source>
   <translation>এই কম্পিউটারের সবচেয়ে নতুন মডেল খোলা হচ্ছে: কয়েক সেকেন্ড লাগে…</translation>
  </message>
  <message>
   <source>The next start goes on from the last step.</source>
   <translation>পরের বার চালু হলে শেষ ধাপ থেকে চলবে।</translation>
  </message>
  <message>
   <source>The notice says nothing.</source>
   <translation>বিজ্ঞপ্তিতে কিছু লেখা নেই।</translation>
  </message>
  <message>
   <source>The organiser does not say.</source>
   <translation>আয়োজক বলেননি।</translation>
  </message>
  <message>
   <source>The organiser has shut this computer out of the collaboration.</source>
   <translation>আয়োজক এই কম্পিউটারকে প্রকল্প থেকে বাদ দিয়েছেন।</translation>
  </message>
  <message>
   <source>The organiser's computer</source>
   <translation>আয়োজকের কম্পিউটার</translation>
  </message>
  <message>
   <source>The organiser's computer does not say.</source>
   <translation>আয়োজকের কম্পিউটার বলে না।</translation>
  </message>
  <message>
   <source>The others get this text in pieces: take only what may be handed on.</source>
   <translation>অন্যরা এই লেখা টুকরো টুকরো করে পান: শুধু তা-ই নিন যা অন্যদের দেওয়া চলে।</translation>
  </message>
  <message>
   <source>The others have signed that it was averaged.</source>
   <translation>এর গড় হয়েছে বলে অন্যরা সই করেছেন।</translation>
  </message>
  <message>
   <source>The page answers with an error ({status}).</source>
   <translation>পাতাটি ভুল জানিয়ে উত্তর দেয় ({status})।</translation>
  </message>
  <message>
   <source>The page at {site} cannot prove that it is the one that its address names.</source>
   <translation>{site}-এর পাতা প্রমাণ করতে পারে না যে সে তার ঠিকানারই পাতা।</translation>
  </message>
  <message>
   <source>The page at {site} sends people to another address.</source>
   <translation>{site}-এর পাতা মানুষকে অন্য ঠিকানায় পাঠায়।</translation>
  </message>
  <message>
   <source>The page can let nobody in at present.</source>
   <translation>পাতাটি এখন কাউকে ঢুকতে দিতে পারে না।</translation>
  </message>
  <message>
   <source>The page cannot be served at {place}: {error}.</source>
   <translation>{place}-এ পাতা দেওয়া যায় না: {error}।</translation>
  </message>
  <message>
   <source>The page needs Jinja2.</source>
   <translation>পাতার জন্য Jinja2 লাগে।</translation>
  </message>
  <message>
   <source>The page of this collaboration has given an answer that this version does not know.</source>
   <translation>এই প্রকল্পের পাতা এমন উত্তর দিয়েছে যা এই সংস্করণ চেনে না।</translation>
  </message>
  <message>
   <source>The page of this collaboration is of a version with which nobody can sign in from Potluck.</source>
   <translation>এই প্রকল্পের পাতা এমন সংস্করণের যাতে Potluck থেকে সাইন ইন করা যায় না।</translation>
  </message>
  <message>
   <source>The part of Potluck that trains is not installed here.</source>
   <translation>Potluck-এর যে অংশ প্রশিক্ষণ দেয় তা এখানে ইনস্টল করা নেই।</translation>
  </message>
  <message>
   <source>The pass belongs to another collaboration.</source>
   <translation>পাসটি অন্য প্রকল্পের।</translation>
  </message>
  <message>
   <source>The pass names an account that cannot be.</source>
   <translation>পাসে এমন অ্যাকাউন্টের নাম যা হতে পারে না।</translation>
  </message>
  <message>
   <source>The pass names nobody.</source>
   <translation>পাসে কারও নাম নেই।</translation>
  </message>
  <message>
   <source>The pass of {username} has expired.</source>
   <translation>{username}-এর পাসের মেয়াদ শেষ।</translation>
  </message>
  <message>
   <source>The pass of {username} is another backbone's.</source>
   <translation>{username}-এর পাস অন্য ব্যাকবোনের।</translation>
  </message>
  <message>
   <source>The pass of {username} is not valid yet.</source>
   <translation>{username}-এর পাস এখনও খাটে না।</translation>
  </message>
  <message>
   <source>The pass of {username} was revoked.</source>
   <translation>{username}-এর পাস তুলে নেওয়া হয়েছে।</translation>
  </message>
  <message>
   <source>The pass was not issued by any authority of this collaboration.</source>
   <translation>পাসটি এই প্রকল্পের কোনো কর্তৃপক্ষের দেওয়া নয়।</translation>
  </message>
  <message>
   <source>The pass was not issued by this collaboration's authority.</source>
   <translation>পাসটি এই প্রকল্পের কর্তৃপক্ষের দেওয়া নয়।</translation>
  </message>
  <message>
   <source>The pot is full: everyone's samples become the next step of the model.</source>
   <translation>হাঁড়ি ভরা: সবার নমুনা মিলে মডেলের পরের ধাপ হচ্ছে।</translation>
  </message>
  <message>
   <source>The process that hosts experts was not started properly.</source>
   <translation>এক্সপার্ট রাখার প্রক্রিয়া ঠিকমতো চালু হয়নি।</translation>
  </message>
  <message>
   <source>The process that hosts experts was started twice.</source>
   <translation>এক্সপার্ট রাখার প্রক্রিয়া দুবার চালু হয়েছে।</translation>
  </message>
  <message>
   <source>The process with the model has ended.</source>
   <translation>মডেলের প্রক্রিয়া শেষ হয়েছে।</translation>
  </message>
  <message>
   <source>The processor</source>
   <translation>প্রসেসর</translation>
  </message>
  <message>
   <source>The processor has {celsius} °C.</source>
   <translation>প্রসেসরের তাপ {celsius} °C।</translation>
  </message>
  <message>
   <source>The processor took more than {watts} W. Potluck continues in a minute or two.</source>
   <translation>প্রসেসর {watts} W-এর বেশি নিয়েছে। এক-দুই মিনিটে Potluck আবার চলবে।</translation>
  </message>
  <message>
   <source>The processor was hotter than {celsius} °C. Potluck continues when it has cooled down.</source>
   <translation>প্রসেসর {celsius} °C-এর বেশি গরম ছিল। ঠান্ডা হলে Potluck আবার চলবে।</translation>
  </message>
  <message>
   <source>The program ssh is not installed.</source>
   <translation>ssh প্রোগ্রাম ইনস্টল করা নেই।</translation>
  </message>
  <message>
   <source>The proxy wants to know who asks.</source>
   <translation>কে চাইছে প্রক্সি তা জানতে চায়।</translation>
  </message>
  <message>
   <source>The questions were not answered; nothing was founded.</source>
   <translation>প্রশ্নগুলোর উত্তর দেওয়া হয়নি; কিছু শুরু করা হয়নি।</translation>
  </message>
  <message>
   <source>The reader was started twice.</source>
   <translation>পাঠক প্রক্রিয়া দুবার চালু হয়েছে।</translation>
  </message>
  <message>
   <source>The reading process could not be started: {error}.</source>
   <translation>পড়ার প্রক্রিয়া চালু করা যায়নি: {error}।</translation>
  </message>
  <message>
   <source>The reading process ends again and again.</source>
   <translation>পড়ার প্রক্রিয়া বারবার শেষ হয়ে যায়।</translation>
  </message>
  <message>
   <source>The reading process was not started properly.</source>
   <translation>পড়ার প্রক্রিয়া ঠিকমতো চালু হয়নি।</translation>
  </message>
  <message>
   <source>The receipt is not what its members signed: somebody or the disk has changed it.</source>
   <translation>রসিদটি তার সদস্যদের সই করা নয়: কেউ বা ডিস্ক এটি বদলেছে।</translation>
  </message>
  <message>
   <source>The recipe's &amp;own text</source>
   <translation>রেসিপির নিজের লেখা (&amp;O)</translation>
  </message>
  <message>
   <source>The registry cannot be changed: {error}.</source>
   <translation>রেজিস্ট্রি বদলানো যায় না: {error}।</translation>
  </message>
  <message>
   <source>The request did not arrive in time.</source>
   <translation>অনুরোধটি সময়মতো আসেনি।</translation>
  </message>
  <message>
   <source>The residuals are not those that were written last.</source>
   <translation>অবশিষ্টগুলো শেষবার যা লেখা হয়েছিল তা নয়।</translation>
  </message>
  <message>
   <source>The residuals are of another vector, or their records are torn.</source>
   <translation>অবশিষ্টগুলো অন্য ভেক্টরের, বা তাদের নথি ছেঁড়া।</translation>
  </message>
  <message>
   <source>The residuals have another length than they should.</source>
   <translation>অবশিষ্টগুলোর দৈর্ঘ্য যা হওয়ার কথা তা নয়।</translation>
  </message>
  <message>
   <source>The router has to lead these ports to this computer: {desk} (TCP), {peers} (TCP and UDP).</source>
   <translation>রাউটারকে এই পোর্টগুলো এই কম্পিউটারে আনতে হবে: {desk} (TCP), {peers} (TCP ও UDP)।</translation>
  </message>
  <message>
   <source>The router lets nobody in, and no relay has been found yet.</source>
   <translation>রাউটার কাউকে ঢুকতে দেয় না, আর এখনও কোনো রিলে পাওয়া যায়নি।</translation>
  </message>
  <message>
   <source>The router lets nobody in. Other volunteers reach this computer through a relay.</source>
   <translation>রাউটার কাউকে ঢুকতে দেয় না। অন্য স্বেচ্ছাসেবকরা রিলে দিয়ে এই কম্পিউটারে পৌঁছান।</translation>
  </message>
  <message>
   <source>The router says that it forwards the port, so there is another router before it, or a firewall on this computer keeps others out. Allow Potluck in the firewall; a second router does no harm.</source>
   <translation>রাউটার বলে পোর্ট এগিয়ে দেওয়া আছে, তাই তার আগে আরেকটি রাউটার আছে, বা এই কম্পিউটারের ফায়ারওয়াল অন্যদের আটকায়। ফায়ারওয়ালে Potluck-কে অনুমতি দিন; দ্বিতীয় রাউটারে ক্ষতি নেই।</translation>
  </message>
  <message>
   <source>The score of the simple model is not valid.</source>
   <translation>সরল মডেলের স্কোর খাটে না।</translation>
  </message>
  <message>
   <source>The server at the backbone's address cannot prove that it is this collaboration's backbone.</source>
   <translation>ব্যাকবোনের ঠিকানার সার্ভার প্রমাণ করতে পারে না যে সে এই প্রকল্পের ব্যাকবোন।</translation>
  </message>
  <message>
   <source>The server at the backbone's address cannot prove what time it is.</source>
   <translation>ব্যাকবোনের ঠিকানার সার্ভার সময় প্রমাণ করতে পারে না।</translation>
  </message>
  <message>
   <source>The server has no file {name}.</source>
   <translation>সার্ভারে {name} ফাইল নেই।</translation>
  </message>
  <message>
   <source>The settings are saved.</source>
   <translation>সেটিংস সংরক্ষণ হয়েছে।</translation>
  </message>
  <message>
   <source>The settings could not be read, so Potluck pauses: look at them, then resume. The damaged file was kept as {name}.</source>
   <translation>সেটিংস পড়া যায়নি, তাই Potluck থেমে আছে: সেগুলো দেখুন, তারপর আবার চালান। নষ্ট ফাইলটি {name} নামে রাখা হয়েছে।</translation>
  </message>
  <message>
   <source>The settings could not be read; the copy of them is used. The damaged file was kept as {name}.</source>
   <translation>সেটিংস পড়া যায়নি; তার কপি ব্যবহার হচ্ছে। নষ্ট ফাইলটি {name} নামে রাখা হয়েছে।</translation>
  </message>
  <message>
   <source>The shard has {count} rows, so none has the number {row}.</source>
   <translation>খণ্ডে {count}টি সারি আছে, তাই {row} নম্বরের কোনোটি নেই।</translation>
  </message>
  <message>
   <source>The signed list of versions is out of date: nobody renewed it, or somebody keeps a newer one away.</source>
   <translation>সংস্করণের সই করা তালিকা পুরোনো: কেউ নবায়ন করেননি, বা কেউ নতুনটি আটকে রাখছে।</translation>
  </message>
  <message>
   <source>The sizes make no model: hidden_size must be a multiple of heads, and at least embedding_size; hidden_size is {hidden_size}, heads {heads}, embedding_size {embedding_size}.</source>
   <translation>এই মাপে মডেল হয় না: hidden_size হতে হবে heads-এর গুণিতক, আর অন্তত embedding_size; hidden_size {hidden_size}, heads {heads}, embedding_size {embedding_size}।</translation>
  </message>
  <message>
   <source>The source has no shard {shard}.</source>
   <translation>উৎসে {shard} খণ্ড নেই।</translation>
  </message>
  <message>
   <source>The state {name} is not what was written.</source>
   <translation>{name} অবস্থাটি যা লেখা হয়েছিল তা নয়।</translation>
  </message>
  <message>
   <source>The states of {name} in {states} are damaged.</source>
   <translation>{states}-এ {name}-এর অবস্থাগুলো নষ্ট।</translation>
  </message>
  <message>
   <source>The sums of old receipts could not be read. The damaged file was kept as {name}.</source>
   <translation>পুরোনো রসিদের যোগফল পড়া যায়নি। নষ্ট ফাইলটি {name} নামে রাখা হয়েছে।</translation>
  </message>
  <message>
   <source>The system does not keep its clock right by itself.</source>
   <translation>সিস্টেম নিজে ঘড়ি ঠিক রাখে না।</translation>
  </message>
  <message>
   <source>The system does not say whether it costs.</source>
   <translation>এতে খরচ হয় কি না সিস্টেম বলে না।</translation>
  </message>
  <message>
   <source>The system does not say whether it costs. If it does, set limits, as in: potluck settings month 5GB</source>
   <translation>এতে খরচ হয় কি না সিস্টেম বলে না। হলে সীমা দিন, যেমন: potluck settings month 5GB</translation>
  </message>
  <message>
   <source>The system does not say whether its clock is kept right.</source>
   <translation>ঘড়ি ঠিক রাখা হয় কি না সিস্টেম বলে না।</translation>
  </message>
  <message>
   <source>The system says that it costs by the megabyte: Potluck leaves it alone.</source>
   <translation>সিস্টেম বলে এতে মেগাবাইট গুনে খরচ হয়: Potluck এটি ব্যবহার করে না।</translation>
  </message>
  <message>
   <source>The system's keyring answers.</source>
   <translation>সিস্টেমের চাবির গোছা উত্তর দেয়।</translation>
  </message>
  <message>
   <source>The system's keyring does not answer.</source>
   <translation>সিস্টেমের চাবির গোছা উত্তর দেয় না।</translation>
  </message>
  <message>
   <source>The system's keyring is not usable.</source>
   <translation>সিস্টেমের চাবির গোছা ব্যবহার করা যায় না।</translation>
  </message>
  <message>
   <source>The system's keyring is switched off by POTLUCK_KEYRING.</source>
   <translation>POTLUCK_KEYRING সিস্টেমের চাবির গোছা বন্ধ রেখেছে।</translation>
  </message>
  <message>
   <source>The task digits learns from images, and {called} has too few of {pixels} pixels: {train} to learn from and {held_out} to measure with.</source>
   <translation>digits কাজ ছবি থেকে শেখে, আর {called}-এ {pixels} পিক্সেলের ছবি খুব কম: শেখার জন্য {train}টি এবং মাপার জন্য {held_out}টি।</translation>
  </message>
  <message>
   <source>The task digits reads images, and takes no tokenizer.</source>
   <translation>digits কাজ ছবি পড়ে, আর টোকেনাইজার নেয় না।</translation>
  </message>
  <message>
   <source>The task gpt reads letters, and takes no tokenizer.</source>
   <translation>gpt কাজ অক্ষর পড়ে, আর টোকেনাইজার নেয় না।</translation>
  </message>
  <message>
   <source>The task {task} has no model that transformers knows.</source>
   <translation>{task} কাজের এমন মডেল নেই যা transformers চেনে।</translation>
  </message>
  <message>
   <source>The task {task} needs a table [experts].</source>
   <translation>{task} কাজের একটি [experts] সারণি লাগে।</translation>
  </message>
  <message>
   <source>The text has no blank to fill: write ___ where a word is missing.</source>
   <translation>লেখায় পূরণ করার শূন্যস্থান নেই: যেখানে শব্দ নেই সেখানে ___ লিখুন।</translation>
  </message>
  <message>
   <source>The text in {called} has too little in it to learn: of {chars} characters come {pieces} different pieces, and {least} are the least.</source>
   <translation>{called}-এর লেখায় শেখার মতো খুব কম আছে: {chars}টি অক্ষর থেকে {pieces}টি আলাদা টুকরো আসে, অন্তত {least}টি লাগে।</translation>
  </message>
  <message>
   <source>The text is read and cut, and what is learned is prepared.</source>
   <translation>লেখা পড়া ও কাটা হচ্ছে, আর যা শেখা হবে তা প্রস্তুত হচ্ছে।</translation>
  </message>
  <message>
   <source>The text is too long: it has {count} pieces, and this model reads {model_max_length}.</source>
   <translation>লেখা খুব লম্বা: এতে {count}টি টুকরো, আর এই মডেল {model_max_length}টি পড়ে।</translation>
  </message>
  <message>
   <source>The text is too long: {most} letters are allowed.</source>
   <translation>লেখা খুব লম্বা: {most}টি অক্ষর পর্যন্ত চলে।</translation>
  </message>
  <message>
   <source>The text makes more than {most} shards.</source>
   <translation>লেখা থেকে {most}টির বেশি খণ্ড হয়।</translation>
  </message>
  <message>
   <source>The text of {name} lies in {path}, which is not on this computer.</source>
   <translation>{name}-এর লেখা {path}-এ আছে, যা এই কম্পিউটারে নেই।</translation>
  </message>
  <message>
   <source>The text of {name} lies in {sum} shards, {missing} of which are not on this computer.</source>
   <translation>{name}-এর লেখা {sum}টি খণ্ডে আছে, তার {missing}টি এই কম্পিউটারে নেই।</translation>
  </message>
  <message>
   <source>The time for signing in is over.</source>
   <translation>সাইন ইন করার সময় শেষ।</translation>
  </message>
  <message>
   <source>The time given so far could not be read; the damaged file is {name}.</source>
   <translation>এ পর্যন্ত দেওয়া সময় পড়া যায়নি; নষ্ট ফাইলটি {name}।</translation>
  </message>
  <message>
   <source>The tokenizer cannot be read.</source>
   <translation>টোকেনাইজার পড়া যায় না।</translation>
  </message>
  <message>
   <source>The tokenizer does not fit the manifest's numbers.</source>
   <translation>টোকেনাইজার ম্যানিফেস্টের সংখ্যার সঙ্গে মেলে না।</translation>
  </message>
  <message>
   <source>The tokenizer fails at this text.</source>
   <translation>টোকেনাইজার এই লেখায় ব্যর্থ হয়।</translation>
  </message>
  <message>
   <source>The tokenizer is of another kind.</source>
   <translation>টোকেনাইজারটি অন্য ধরনের।</translation>
  </message>
  <message>
   <source>The tokenizer {path} cannot be read: {error}.</source>
   <translation>{path} টোকেনাইজার পড়া যায় না: {error}।</translation>
  </message>
  <message>
   <source>The tokenizer {path} has more than {most} bytes.</source>
   <translation>{path} টোকেনাইজার {most} বাইটের বেশি।</translation>
  </message>
  <message>
   <source>The tokenizer {path} has {size} pieces, not {least} to {most}.</source>
   <translation>{path} টোকেনাইজারে {size}টি টুকরো আছে, {least} থেকে {most}টি নয়।</translation>
  </message>
  <message>
   <source>The training part</source>
   <translation>প্রশিক্ষণ অংশ</translation>
  </message>
  <message>
   <source>The training part could not be looked at.</source>
   <translation>প্রশিক্ষণ অংশ দেখা যায়নি।</translation>
  </message>
  <message>
   <source>The training part here belongs to another version of Potluck or Python.</source>
   <translation>এখানকার প্রশিক্ষণ অংশ Potluck বা Python-এর অন্য সংস্করণের।</translation>
  </message>
  <message>
   <source>The training part here belongs to another version of Potluck. Get the new one.</source>
   <translation>এখানকার প্রশিক্ষণ অংশ Potluck-এর অন্য সংস্করণের। নতুনটি আনুন।</translation>
  </message>
  <message>
   <source>The training part is being downloaded already.</source>
   <translation>প্রশিক্ষণ অংশ আগেই ডাউনলোড হচ্ছে।</translation>
  </message>
  <message>
   <source>The training part is damaged: a file is missing, or has another size.</source>
   <translation>প্রশিক্ষণ অংশ নষ্ট: একটি ফাইল নেই, বা তার আকার অন্য।</translation>
  </message>
  <message>
   <source>The training part is damaged: a file is missing, or has another size. Get it again.</source>
   <translation>প্রশিক্ষণ অংশ নষ্ট: একটি ফাইল নেই, বা তার আকার অন্য। আবার আনুন।</translation>
  </message>
  <message>
   <source>The training part is here: this computer can train.</source>
   <translation>প্রশিক্ষণ অংশ এখানে আছে: এই কম্পিউটার প্রশিক্ষণ দিতে পারে।</translation>
  </message>
  <message>
   <source>The training part is not here: this computer averages what others train.</source>
   <translation>প্রশিক্ষণ অংশ এখানে নেই: এই কম্পিউটার অন্যদের প্রশিক্ষণের গড় করে।</translation>
  </message>
  <message>
   <source>The training part needs {needed} GB of the disk for a while, and {free} GB are free.</source>
   <translation>প্রশিক্ষণ অংশের কিছুক্ষণ ডিস্কের {needed} GB লাগে, আর {free} GB খালি আছে।</translation>
  </message>
  <message>
   <source>The training process did not answer any more.</source>
   <translation>প্রশিক্ষণ প্রক্রিয়া আর উত্তর দেয়নি।</translation>
  </message>
  <message>
   <source>The training process does not answer.</source>
   <translation>প্রশিক্ষণ প্রক্রিয়া উত্তর দেয় না।</translation>
  </message>
  <message>
   <source>The training process ended with code {code}.</source>
   <translation>প্রশিক্ষণ প্রক্রিয়া {code} কোড দিয়ে শেষ হয়েছে।</translation>
  </message>
  <message>
   <source>The training process said something unreadable: {problem}</source>
   <translation>প্রশিক্ষণ প্রক্রিয়া এমন কিছু বলেছে যা পড়া যায় না: {problem}</translation>
  </message>
  <message>
   <source>The training process stopped.</source>
   <translation>প্রশিক্ষণ প্রক্রিয়া থেমে গেছে।</translation>
  </message>
  <message>
   <source>The training process was ended by signal {signal}.</source>
   <translation>{signal} সংকেতে প্রশিক্ষণ প্রক্রিয়া শেষ হয়েছে।</translation>
  </message>
  <message>
   <source>The training process was not started properly.</source>
   <translation>প্রশিক্ষণ প্রক্রিয়া ঠিকমতো চালু হয়নি।</translation>
  </message>
  <message>
   <source>The training process was started twice.</source>
   <translation>প্রশিক্ষণ প্রক্রিয়া দুবার চালু হয়েছে।</translation>
  </message>
  <message>
   <source>The training program is starting.</source>
   <translation>প্রশিক্ষণ প্রোগ্রাম চালু হচ্ছে।</translation>
  </message>
  <message>
   <source>The two passphrases differ.</source>
   <translation>পাসফ্রেজ দুটি আলাদা।</translation>
  </message>
  <message>
   <source>The volunteers' checkpoints do not have the same parameters.</source>
   <translation>স্বেচ্ছাসেবকদের চেকপয়েন্টের প্যারামিটার একই নয়।</translation>
  </message>
  <message>
   <source>The way to {computer} does not open.</source>
   <translation>{computer}-এ যাওয়ার পথ খোলে না।</translation>
  </message>
  <message>
   <source>The window can open.</source>
   <translation>জানালা খুলতে পারে।</translation>
  </message>
  <message>
   <source>The window is minimised then: this desktop has no place for icons.</source>
   <translation>জানালা তখন ছোট করে রাখা হয়: এই ডেস্কটপে আইকনের জায়গা নেই।</translation>
  </message>
  <message>
   <source>The window is not installed.</source>
   <translation>জানালা ইনস্টল করা নেই।</translation>
  </message>
  <message>
   <source>The window needs PySide6, which is not installed.</source>
   <translation>জানালার PySide6 লাগে, যা ইনস্টল করা নেই।</translation>
  </message>
  <message>
   <source>The window speaks it from its next start on: quit Potluck and open it again.</source>
   <translation>পরের বার চালু হলে জানালা এই ভাষায় হবে: Potluck থেকে বেরিয়ে আবার খুলুন।</translation>
  </message>
  <message>
   <source>The window starts when you log in, hidden beside the clock.</source>
   <translation>লগইনের সময় জানালা চালু হয়, ঘড়ির পাশে লুকিয়ে।</translation>
  </message>
  <message>
   <source>The window, hidden</source>
   <translation>জানালা, লুকানো</translation>
  </message>
  <message>
   <source>The words are too long.</source>
   <translation>শব্দগুলো খুব লম্বা।</translation>
  </message>
  <message>
   <source>Then it &amp;computes</source>
   <translation>তখন হিসাব চলে (&amp;C)</translation>
  </message>
  <message>
   <source>There are no such times: {word}.</source>
   <translation>এমন সময় নেই: {word}।</translation>
  </message>
  <message>
   <source>There are {most} invitations already.</source>
   <translation>আগেই {most}টি আমন্ত্রণ আছে।</translation>
  </message>
  <message>
   <source>There are: {fields}.</source>
   <translation>আছে: {fields}।</translation>
  </message>
  <message>
   <source>There are: {names}.</source>
   <translation>আছে: {names}।</translation>
  </message>
  <message>
   <source>There can be {most} backbones.</source>
   <translation>{most}টি ব্যাকবোন থাকতে পারে।</translation>
  </message>
  <message>
   <source>There can be {most} mirrors.</source>
   <translation>{most}টি মিরর থাকতে পারে।</translation>
  </message>
  <message>
   <source>There can be {most} moderators.</source>
   <translation>{most} জন মডারেটর থাকতে পারেন।</translation>
  </message>
  <message>
   <source>There is memory for {count} experts.</source>
   <translation>{count}টি এক্সপার্টের মেমরি আছে।</translation>
  </message>
  <message>
   <source>There is no connection to other volunteers.</source>
   <translation>অন্য স্বেচ্ছাসেবকদের সঙ্গে সংযোগ নেই।</translation>
  </message>
  <message>
   <source>There is no copy {number}.</source>
   <translation>{number} নম্বর কপি নেই।</translation>
  </message>
  <message>
   <source>There is no device {name} here now</source>
   <translation>এখন এখানে {name} যন্ত্র নেই</translation>
  </message>
  <message>
   <source>There is no file {file}.</source>
   <translation>{file} ফাইল নেই।</translation>
  </message>
  <message>
   <source>There is no file {path}.</source>
   <translation>{path} ফাইল নেই।</translation>
  </message>
  <message>
   <source>There is no folder or file {path}.</source>
   <translation>{path} ফোল্ডার বা ফাইল নেই।</translation>
  </message>
  <message>
   <source>There is no folder {folder}.</source>
   <translation>{folder} ফোল্ডার নেই।</translation>
  </message>
  <message>
   <source>There is no folder {name}.</source>
   <translation>{name} ফোল্ডার নেই।</translation>
  </message>
  <message>
   <source>There is no held-out text to look at the tokenizer with.</source>
   <translation>টোকেনাইজার দেখার মতো যাচাইয়ের লেখা নেই।</translation>
  </message>
  <message>
   <source>There is no index in {address}.</source>
   <translation>{address}-এ কোনো সূচি নেই।</translation>
  </message>
  <message>
   <source>There is no index {path}.</source>
   <translation>{path} সূচি নেই।</translation>
  </message>
  <message>
   <source>There is no invitation {named}.</source>
   <translation>{named} আমন্ত্রণ নেই।</translation>
  </message>
  <message>
   <source>There is no method {name}.</source>
   <translation>{name} পদ্ধতি নেই।</translation>
  </message>
  <message>
   <source>There is no model of {name} on this computer yet.</source>
   <translation>এই কম্পিউটারে এখনও {name}-এর কোনো মডেল নেই।</translation>
  </message>
  <message>
   <source>There is no newer version here.</source>
   <translation>এখানে নতুনতর সংস্করণ নেই।</translation>
  </message>
  <message>
   <source>There is no recipe {named}.</source>
   <translation>{named} রেসিপি নেই।</translation>
  </message>
  <message>
   <source>There is no setting {name}.</source>
   <translation>{name} সেটিং নেই।</translation>
  </message>
  <message>
   <source>There is no setting {unknown}.</source>
   <translation>{unknown} সেটিং নেই।</translation>
  </message>
  <message>
   <source>There is no text in {address}.</source>
   <translation>{address}-এ কোনো লেখা নেই।</translation>
  </message>
  <message>
   <source>There is no text to go on with.</source>
   <translation>এগিয়ে নেওয়ার মতো লেখা নেই।</translation>
  </message>
  <message>
   <source>There is too little text in {address}: {characters} characters, and none to look at the tokenizer with.</source>
   <translation>{address}-এ লেখা খুব কম: {characters}টি অক্ষর, টোকেনাইজার দেখার মতো কিছু নেই।</translation>
  </message>
  <message>
   <source>There is too little text to learn from in {called}: {train} characters to train and {held_out} to measure with; {least} and {held_out_least} are the least.</source>
   <translation>{called}-এ শেখার লেখা খুব কম: প্রশিক্ষণের {train}টি আর মাপার {held_out}টি অক্ষর; অন্তত {least}টি ও {held_out_least}টি লাগে।</translation>
  </message>
  <message>
   <source>There is too little text to learn from.</source>
   <translation>শেখার লেখা খুব কম।</translation>
  </message>
  <message>
   <source>There you answer people who ask to be let in, too.</source>
   <translation>যাঁরা ঢুকতে চান তাঁদের উত্তরও আপনি সেখানেই দেন।</translation>
  </message>
  <message>
   <source>These are {count} letters.</source>
   <translation>এতে {count}টি অক্ষর।</translation>
  </message>
  <message>
   <source>These are {count} runs; {most} are allowed.</source>
   <translation>এতে {count}বার চালানো হয়; {most}বার পর্যন্ত চলে।</translation>
  </message>
  <message>
   <source>These settings cannot be read: {error}.</source>
   <translation>এই সেটিংস পড়া যায় না: {error}।</translation>
  </message>
  <message>
   <source>They have ended the collaboration, and name one that goes on: {words}</source>
   <translation>তাঁরা প্রকল্পটি শেষ করেছেন, আর এগিয়ে চলে এমন একটির নাম দিয়েছেন: {words}</translation>
  </message>
  <message>
   <source>They have ended the collaboration: {words}</source>
   <translation>তাঁরা প্রকল্পটি শেষ করেছেন: {words}</translation>
  </message>
  <message>
   <source>They have paused the collaboration: {words}</source>
   <translation>তাঁরা প্রকল্পটি থামিয়েছেন: {words}</translation>
  </message>
  <message>
   <source>They say: {words}</source>
   <translation>তাঁরা বলেন: {words}</translation>
  </message>
  <message>
   <source>This Potluck runs with a Python that has torch: nothing has to be downloaded.</source>
   <translation>এই Potluck এমন Python-এ চলে যাতে torch আছে: কিছু ডাউনলোড করতে হয় না।</translation>
  </message>
  <message>
   <source>This Potluck was not installed as a program that updates itself.</source>
   <translation>এই Potluck নিজেকে হালনাগাদ করে এমন প্রোগ্রাম হিসেবে ইনস্টল করা হয়নি।</translation>
  </message>
  <message>
   <source>This Potluck was not installed as a program that updates itself: newer versions come the way it came, from the system's packages for example.</source>
   <translation>এই Potluck নিজেকে হালনাগাদ করে এমন প্রোগ্রাম হিসেবে ইনস্টল করা হয়নি: এটি যেভাবে এসেছে নতুনতর সংস্করণও সেভাবে আসে, যেমন সিস্টেমের প্যাকেজ থেকে।</translation>
  </message>
  <message>
   <source>This Python has no pip, by which the training part is found.</source>
   <translation>এই Python-এ pip নেই, যা দিয়ে প্রশিক্ষণ অংশ খোঁজা হয়।</translation>
  </message>
  <message>
   <source>This backbone has no page on which moderators sign in.</source>
   <translation>এই ব্যাকবোনের এমন পাতা নেই যেখানে মডারেটররা সাইন ইন করেন।</translation>
  </message>
  <message>
   <source>This backbone has no ports yet.</source>
   <translation>এই ব্যাকবোনের এখনও পোর্ট নেই।</translation>
  </message>
  <message>
   <source>This backbone lets nobody in, by the moderators' list.</source>
   <translation>মডারেটরদের তালিকা অনুযায়ী এই ব্যাকবোন কাউকে ঢুকতে দেয় না।</translation>
  </message>
  <message>
   <source>This can only be on or off.</source>
   <translation>এটি শুধু চালু বা বন্ধ হতে পারে।</translation>
  </message>
  <message>
   <source>This certificate is not a pass.</source>
   <translation>এই সার্টিফিকেট পাস নয়।</translation>
  </message>
  <message>
   <source>This collaboration</source>
   <translation>এই প্রকল্প</translation>
  </message>
  <message>
   <source>This collaboration lists no shards, so none can be shared.</source>
   <translation>এই প্রকল্পের খণ্ডের তালিকা নেই, তাই ভাগ করা যায় না।</translation>
  </message>
  <message>
   <source>This collaboration wants to read the folder {path} on this computer.</source>
   <translation>এই প্রকল্প এই কম্পিউটারের {path} ফোল্ডার পড়তে চায়।</translation>
  </message>
  <message>
   <source>This command needs SQLAlchemy.</source>
   <translation>এই কমান্ডের SQLAlchemy লাগে।</translation>
  </message>
  <message>
   <source>This command needs {name}, which is not installed.</source>
   <translation>এই কমান্ডের {name} লাগে, যা ইনস্টল করা নেই।</translation>
  </message>
  <message>
   <source>This comput&amp;er</source>
   <translation>এই কম্পিউটার (&amp;E)</translation>
  </message>
  <message>
   <source>This computer</source>
   <translation>এই কম্পিউটার</translation>
  </message>
  <message>
   <source>This computer averaged or passed on what others had computed, and had no samples of its own.</source>
   <translation>এই কম্পিউটার অন্যদের হিসাবের গড় করেছে বা বয়ে দিয়েছে, নিজের কোনো নমুনা ছিল না।</translation>
  </message>
  <message>
   <source>This computer cannot listen on {bind}: {error}.</source>
   <translation>এই কম্পিউটার {bind}-এ শুনতে পারে না: {error}।</translation>
  </message>
  <message>
   <source>This computer does not hold the charter of {name}.</source>
   <translation>এই কম্পিউটারে {name}-এর সনদ নেই।</translation>
  </message>
  <message>
   <source>This computer gives its pass up and leaves the collaboration. What it gave stays in the model, under your name. It comes in again when you sign in, or by a link of another computer of yours.</source>
   <translation>এই কম্পিউটার তার পাস ছেড়ে দেয় ও প্রকল্প ছেড়ে যায়। যা দিয়েছে তা আপনার নামে মডেলে থাকে। আপনি সাইন ইন করলে, বা আপনার অন্য কম্পিউটারের লিংকে, এটি আবার ঢোকে।</translation>
  </message>
  <message>
   <source>This computer has a network: its router's line may be dead, or theirs, or a firewall blocks this program.</source>
   <translation>এই কম্পিউটারে নেটওয়ার্ক আছে: এর রাউটারের সংযোগ হয়তো বন্ধ, বা তাদেরটি, বা ফায়ারওয়াল এই প্রোগ্রাম আটকায়।</translation>
  </message>
  <message>
   <source>This computer has averaged nobody's parts since it started.</source>
   <translation>চালু হওয়ার পর থেকে এই কম্পিউটার কারও অংশের গড় করেনি।</translation>
  </message>
  <message>
   <source>This computer has joined no collaboration.</source>
   <translation>এই কম্পিউটার কোনো প্রকল্পে যোগ দেয়নি।</translation>
  </message>
  <message>
   <source>This computer has no memory left.</source>
   <translation>এই কম্পিউটারে আর মেমরি নেই।</translation>
  </message>
  <message>
   <source>This computer has no network now: nobody else can come in.</source>
   <translation>এই কম্পিউটারে এখন নেটওয়ার্ক নেই: আর কেউ ঢুকতে পারে না।</translation>
  </message>
  <message>
   <source>This computer has no network.</source>
   <translation>এই কম্পিউটারে নেটওয়ার্ক নেই।</translation>
  </message>
  <message>
   <source>This computer has no network: it trains alone, and its work may not be kept.</source>
   <translation>এই কম্পিউটারে নেটওয়ার্ক নেই: এটি একা প্রশিক্ষণ দিচ্ছে, এর কাজ হয়তো রাখা হবে না।</translation>
  </message>
  <message>
   <source>This computer has taken part in no collaboration called {name}, and trained none alone.</source>
   <translation>এই কম্পিউটার {name} নামের কোনো প্রকল্পে অংশ নেয়নি, একা কোনোটির প্রশিক্ষণও দেয়নি।</translation>
  </message>
  <message>
   <source>This computer has taken part in no collaboration, and trained none alone.</source>
   <translation>এই কম্পিউটার কোনো প্রকল্পে অংশ নেয়নি, একা কোনোটির প্রশিক্ষণও দেয়নি।</translation>
  </message>
  <message>
   <source>This computer helps with averaging and holds no model.</source>
   <translation>এই কম্পিউটার গড় করতে সাহায্য করে, এতে মডেল থাকে না।</translation>
  </message>
  <message>
   <source>This computer is behind a router. Other volunteers reach it directly after a short introduction.</source>
   <translation>এই কম্পিউটার রাউটারের পিছনে। অল্প পরিচয়ের পরে অন্য স্বেচ্ছাসেবকরা সরাসরি পৌঁছান।</translation>
  </message>
  <message>
   <source>This computer is in no network now.</source>
   <translation>এই কম্পিউটার এখন কোনো নেটওয়ার্কে নেই।</translation>
  </message>
  <message>
   <source>This computer is in no network.</source>
   <translation>এই কম্পিউটার কোনো নেটওয়ার্কে নেই।</translation>
  </message>
  <message>
   <source>This computer is in use, and training held more than {memory} of its memory. Potluck continues when nobody has touched it for {minutes} min.</source>
   <translation>এই কম্পিউটার ব্যবহার হচ্ছে, আর প্রশিক্ষণ এর মেমরির {memory}-এর বেশি রেখেছিল। {minutes} min কেউ না ছুঁলে Potluck আবার চলবে।</translation>
  </message>
  <message>
   <source>This computer is in use. Potluck continues when nobody has touched it for {minutes} min.</source>
   <translation>এই কম্পিউটার ব্যবহার হচ্ছে। {minutes} min কেউ না ছুঁলে Potluck আবার চলবে।</translation>
  </message>
  <message>
   <source>This computer is not a moderator's here.</source>
   <translation>এই কম্পিউটার এখানে কোনো মডারেটরের নয়।</translation>
  </message>
  <message>
   <source>This computer lets the others in, and takes part. It does so as long as Potluck runs, also without this window; without it the others train on for four days, and nobody new comes in.</source>
   <translation>এই কম্পিউটার অন্যদের ঢুকতে দেয়, আর অংশ নেয়। Potluck যতক্ষণ চলে ততক্ষণ, এই জানালা ছাড়াও; এটি না থাকলে অন্যরা চার দিন প্রশিক্ষণ চালান, আর নতুন কেউ ঢোকে না।</translation>
  </message>
  <message>
   <source>This computer runs on its battery. Potluck continues when it is plugged in.</source>
   <translation>এই কম্পিউটার ব্যাটারিতে চলছে। চার্জে দিলে Potluck আবার চলবে।</translation>
  </message>
  <message>
   <source>This computer takes part in no collaboration.</source>
   <translation>এই কম্পিউটার কোনো প্রকল্পে অংশ নেয় না।</translation>
  </message>
  <message>
   <source>This computer takes part in {name}.</source>
   <translation>এই কম্পিউটার {name}-এ অংশ নেয়।</translation>
  </message>
  <message>
   <source>This computer trains alone: join a collaboration first, or start one.</source>
   <translation>এই কম্পিউটার একা প্রশিক্ষণ দিচ্ছে: আগে একটি প্রকল্পে যোগ দিন, বা একটি শুরু করুন।</translation>
  </message>
  <message>
   <source>This computer's clock agrees with the collaboration's time again.</source>
   <translation>এই কম্পিউটারের ঘড়ি আবার প্রকল্পের সময়ের সঙ্গে মেলে।</translation>
  </message>
  <message>
   <source>This computer's clock is wrong by years.</source>
   <translation>এই কম্পিউটারের ঘড়ি কয়েক বছর ভুল।</translation>
  </message>
  <message>
   <source>This computer's clock is {time} {way} the collaboration's time, by which Potluck goes on. Let the system set the clock by itself (date and time settings): the hours that you chose follow it.</source>
   <translation>এই কম্পিউটারের ঘড়ি প্রকল্পের সময়ের {time} {way}; Potluck প্রকল্পের সময়েই চলে। সিস্টেমকে নিজে ঘড়ি মেলাতে দিন (তারিখ ও সময়ের সেটিংস): আপনার বাছা সময় সেই ঘড়ি মানে।</translation>
  </message>
  <message>
   <source>This computer's clock says {day}, but this Potluck was made later: what is new cannot be told so.</source>
   <translation>এই কম্পিউটারের ঘড়িতে {day}, কিন্তু এই Potluck তার পরে বানানো: এভাবে কী নতুন তা বলা যায় না।</translation>
  </message>
  <message>
   <source>This computer's clock went back: its files are from the future.</source>
   <translation>এই কম্পিউটারের ঘড়ি পিছিয়ে গেছে: এর ফাইলগুলো ভবিষ্যতের।</translation>
  </message>
  <message>
   <source>This computer's key is damaged.</source>
   <translation>এই কম্পিউটারের চাবি নষ্ট।</translation>
  </message>
  <message>
   <source>This computer's key is in it: unlock the keyring. {also}</source>
   <translation>এতে এই কম্পিউটারের চাবি আছে: চাবির গোছা খুলুন। {also}</translation>
  </message>
  <message>
   <source>This computer's key is in the system's keyring, and the keyring does not open.</source>
   <translation>এই কম্পিউটারের চাবি সিস্টেমের চাবির গোছায় আছে, আর গোছাটি খোলে না।</translation>
  </message>
  <message>
   <source>This computer's key is no longer in the system's keyring.</source>
   <translation>এই কম্পিউটারের চাবি আর সিস্টেমের চাবির গোছায় নেই।</translation>
  </message>
  <message>
   <source>This computer's memory does not suffice to train this model.</source>
   <translation>এই মডেল প্রশিক্ষণ দিতে এই কম্পিউটারের মেমরি যথেষ্ট নয়।</translation>
  </message>
  <message>
   <source>This connection costs money by the megabyte. Potluck continues with another one.</source>
   <translation>এই সংযোগে মেগাবাইট গুনে খরচ হয়। অন্য সংযোগে Potluck আবার চলবে।</translation>
  </message>
  <message>
   <source>This description of hours is too long.</source>
   <translation>সময়ের এই বিবরণ খুব লম্বা।</translation>
  </message>
  <message>
   <source>This function returns the ___ of a file.</source>
   <translation>This function returns the ___ of a file.</translation>
  </message>
  <message>
   <source>This holds no longer, or was used already.</source>
   <translation>এটি আর খাটে না, বা আগেই ব্যবহার হয়েছে।</translation>
  </message>
  <message>
   <source>This invitation has been used as often as it may be.</source>
   <translation>এই আমন্ত্রণ যতবার চলে ততবার ব্যবহার হয়েছে।</translation>
  </message>
  <message>
   <source>This invitation has expired.</source>
   <translation>এই আমন্ত্রণের মেয়াদ শেষ।</translation>
  </message>
  <message>
   <source>This invitation is not valid; the organiser may have withdrawn it.</source>
   <translation>এই আমন্ত্রণ খাটে না; আয়োজক হয়তো তুলে নিয়েছেন।</translation>
  </message>
  <message>
   <source>This is done on the computer itself.</source>
   <translation>এটি সেই কম্পিউটারেই করা হয়।</translation>
  </message>
  <message>
   <source>This is not a Potluck link.</source>
   <translation>এটি Potluck-এর লিংক নয়।</translation>
  </message>
  <message>
   <source>This is not a certificate request.</source>
   <translation>এটি সার্টিফিকেটের অনুরোধ নয়।</translation>
  </message>
  <message>
   <source>This is not a device that can train.</source>
   <translation>এটি প্রশিক্ষণ দিতে পারে এমন যন্ত্র নয়।</translation>
  </message>
  <message>
   <source>This is not a list of collaborations.</source>
   <translation>এটি প্রকল্পের তালিকা নয়।</translation>
  </message>
  <message>
   <source>This is not a manifest: {error}.</source>
   <translation>এটি ম্যানিফেস্ট নয়: {error}।</translation>
  </message>
  <message>
   <source>This is not a meter that could say a number.</source>
   <translation>এটি সংখ্যা বলতে পারে এমন মিটার নয়।</translation>
  </message>
  <message>
   <source>This is not a name that the others could read.</source>
   <translation>এটি অন্যরা পড়তে পারে এমন নাম নয়।</translation>
  </message>
  <message>
   <source>This is not a position of a switch.</source>
   <translation>এটি সুইচের কোনো অবস্থান নয়।</translation>
  </message>
  <message>
   <source>This is not a recovery sheet, or lines of it are missing.</source>
   <translation>এটি উদ্ধারের পাতা নয়, বা এর কিছু লাইন নেই।</translation>
  </message>
  <message>
   <source>This is not a valid list of programs.</source>
   <translation>এটি প্রোগ্রামের ঠিক তালিকা নয়।</translation>
  </message>
  <message>
   <source>This is not another computer of your account.</source>
   <translation>এটি আপনার অ্যাকাউন্টের অন্য কম্পিউটার নয়।</translation>
  </message>
  <message>
   <source>This is not the address of a database of PostgreSQL's.</source>
   <translation>এটি PostgreSQL-এর ডেটাবেসের ঠিকানা নয়।</translation>
  </message>
  <message>
   <source>This is not the address of a database.</source>
   <translation>এটি ডেটাবেসের ঠিকানা নয়।</translation>
  </message>
  <message>
   <source>This is outside the hours that you chose. Potluck continues {moment} at the earliest.</source>
   <translation>এটি আপনার বাছা সময়ের বাইরে। Potluck সবচেয়ে আগে {moment} আবার চলবে।</translation>
  </message>
  <message>
   <source>This is the computer that you are at.</source>
   <translation>আপনি এই কম্পিউটারেই আছেন।</translation>
  </message>
  <message>
   <source>This is the key of another collaboration.</source>
   <translation>এটি অন্য প্রকল্পের চাবি।</translation>
  </message>
  <message>
   <source>This is the link by which you came in; it lets in others, too.</source>
   <translation>এই লিংকেই আপনি ঢুকেছেন; এতে অন্যরাও ঢুকতে পারে।</translation>
  </message>
  <message>
   <source>This line is not a question: {error}.</source>
   <translation>এই লাইন কোনো প্রশ্ন নয়: {error}।</translation>
  </message>
  <message>
   <source>This link cannot be read: {error}.</source>
   <translation>এই লিংক পড়া যায় না: {error}।</translation>
  </message>
  <message>
   <source>This link does not say which collaboration it leads to.</source>
   <translation>কোন প্রকল্পে নিয়ে যায় এই লিংক তা বলে না।</translation>
  </message>
  <message>
   <source>This link has no invitation, and nobody has signed in on this computer.</source>
   <translation>এই লিংকে আমন্ত্রণ নেই, আর এই কম্পিউটারে কেউ সাইন ইন করেননি।</translation>
  </message>
  <message>
   <source>This link has no invitation, and nobody signs in there.</source>
   <translation>এই লিংকে আমন্ত্রণ নেই, আর সেখানে কেউ সাইন ইন করে না।</translation>
  </message>
  <message>
   <source>This list is too large.</source>
   <translation>এই তালিকা খুব বড়।</translation>
  </message>
  <message>
   <source>This list was changed after it was signed.</source>
   <translation>সই করার পরে এই তালিকা বদলানো হয়েছে।</translation>
  </message>
  <message>
   <source>This number cannot be chosen here.</source>
   <translation>এখানে এই সংখ্যা বাছা যায় না।</translation>
  </message>
  <message>
   <source>This one goes on. Tell the people who make Potluck, with what potluck doctor says.</source>
   <translation>এটিই চলছে। potluck doctor যা বলে তা নিয়ে যাঁরা Potluck বানান তাঁদের জানান।</translation>
  </message>
  <message>
   <source>This passphrase does not open the key, or the key is damaged.</source>
   <translation>এই পাসফ্রেজে চাবি খোলে না, বা চাবি নষ্ট।</translation>
  </message>
  <message>
   <source>This passphrase is too short or cannot be used.</source>
   <translation>এই পাসফ্রেজ খুব ছোট বা ব্যবহার করা যায় না।</translation>
  </message>
  <message>
   <source>This proposal says something that this version of Potluck does not know.</source>
   <translation>এই প্রস্তাবে এমন কিছু আছে যা Potluck-এর এই সংস্করণ জানে না।</translation>
  </message>
  <message>
   <source>This recipe is being trained here already.</source>
   <translation>এই রেসিপির প্রশিক্ষণ এখানে আগেই চলছে।</translation>
  </message>
  <message>
   <source>This request cannot be read.</source>
   <translation>এই অনুরোধ পড়া যায় না।</translation>
  </message>
  <message>
   <source>This request was made already.</source>
   <translation>এই অনুরোধ আগেই করা হয়েছে।</translation>
  </message>
  <message>
   <source>This request was signed at another time.</source>
   <translation>এই অনুরোধে অন্য সময়ে সই করা হয়েছে।</translation>
  </message>
  <message>
   <source>This system has no keyring that keeps secrets, or it is closed; nothing was kept.</source>
   <translation>এই সিস্টেমে গোপন কথা রাখার চাবির গোছা নেই, বা তা বন্ধ; কিছু রাখা হয়নি।</translation>
  </message>
  <message>
   <source>This system has no systemd, which would start the engine.</source>
   <translation>এই সিস্টেমে systemd নেই, যা ইঞ্জিন চালু করত।</translation>
  </message>
  <message>
   <source>This system has no usable keyring: this computer's key is in the file {path}, readable by you only.</source>
   <translation>এই সিস্টেমে ব্যবহারযোগ্য চাবির গোছা নেই: এই কম্পিউটারের চাবি {path} ফাইলে আছে, যা শুধু আপনি পড়তে পারেন।</translation>
  </message>
  <message>
   <source>This system tells nothing about its use.</source>
   <translation>এই সিস্টেম তার ব্যবহারের কিছু বলে না।</translation>
  </message>
  <message>
   <source>This time has passed, or it is too far ahead.</source>
   <translation>এই সময় পেরিয়ে গেছে, বা খুব দূরে।</translation>
  </message>
  <message>
   <source>This version of Potluck cannot read the collaboration.</source>
   <translation>Potluck-এর এই সংস্করণ প্রকল্পটি পড়তে পারে না।</translation>
  </message>
  <message>
   <source>This version of Potluck does not know the hashes of the build {build}, so it is not installed.</source>
   <translation>Potluck-এর এই সংস্করণ {build} সংস্করণের হ্যাশ জানে না, তাই তা ইনস্টল হয় না।</translation>
  </message>
  <message>
   <source>This version of Potluck does not know the {what} {name}.</source>
   <translation>Potluck-এর এই সংস্করণ {what} {name} চেনে না।</translation>
  </message>
  <message>
   <source>This version of Potluck reads its text in another way, so the collaboration on this computer begins anew; the earlier one was kept in {folder}.</source>
   <translation>Potluck-এর এই সংস্করণ তার লেখা অন্যভাবে পড়ে, তাই এই কম্পিউটারে প্রকল্পটি নতুন করে শুরু হচ্ছে; আগেরটি {folder}-এ রাখা হয়েছে।</translation>
  </message>
  <message>
   <source>Those of these steps are: {kept_ones}.</source>
   <translation>এই ধাপগুলোরটি আছে: {kept_ones}।</translation>
  </message>
  <message>
   <source>Threads that train</source>
   <translation>প্রশিক্ষণের থ্রেড</translation>
  </message>
  <message>
   <source>Three volunteers on this computer train a small model together, at low priority. Nothing leaves this computer; you can join others at any time.</source>
   <translation>এই কম্পিউটারে তিনজন স্বেচ্ছাসেবক কম অগ্রাধিকারে একসঙ্গে ছোট একটি মডেল প্রশিক্ষণ দেয়। এই কম্পিউটার থেকে কিছু বাইরে যায় না; যেকোনো সময় অন্যদের সঙ্গে যোগ দিতে পারেন।</translation>
  </message>
  <message>
   <source>Through a router; nothing has to be set up for that. The window says more after the start.</source>
   <translation>রাউটারের মাধ্যমে; তার জন্য কিছু ঠিক করতে হয় না। চালু হলে জানালা আরও বলে।</translation>
  </message>
  <message>
   <source>Thursday</source>
   <translation>বৃহস্পতিবার</translation>
  </message>
  <message>
   <source>Time</source>
   <translation>সময়কাল</translation>
  </message>
  <message>
   <source>To go on without a question, add --yes.</source>
   <translation>প্রশ্ন ছাড়াই এগোতে --yes যোগ করুন।</translation>
  </message>
  <message>
   <source>To replace it, add --force.</source>
   <translation>এটি বদলাতে --force যোগ করুন।</translation>
  </message>
  <message>
   <source>Too few experts answer to measure the model.</source>
   <translation>মডেল মাপার মতো যথেষ্ট এক্সপার্ট উত্তর দেয় না।</translation>
  </message>
  <message>
   <source>Too many computers at this address have asked to join.</source>
   <translation>এই ঠিকানার খুব বেশি কম্পিউটার যোগ দিতে চেয়েছে।</translation>
  </message>
  <message>
   <source>Too many requests are under way.</source>
   <translation>খুব বেশি অনুরোধ চলছে।</translation>
  </message>
  <message>
   <source>Too many windows and commands are connected to the engine. Close one of them.</source>
   <translation>ইঞ্জিনের সঙ্গে খুব বেশি জানালা ও কমান্ড যুক্ত। একটি বন্ধ করুন।</translation>
  </message>
  <message>
   <source>Too many windows and commands are connected.</source>
   <translation>খুব বেশি জানালা ও কমান্ড যুক্ত।</translation>
  </message>
  <message>
   <source>Traffic</source>
   <translation>ডেটা চলাচল</translation>
  </message>
  <message>
   <source>Train a model together</source>
   <translation>একসঙ্গে একটি মডেল প্রশিক্ষণ দিন</translation>
  </message>
  <message>
   <source>Train one with `potluck tokenizer train`, or name one of {recipes}.</source>
   <translation>`potluck tokenizer train` দিয়ে একটি বানান, বা {recipes}-এর একটির নাম দিন।</translation>
  </message>
  <message>
   <source>Train one with `potluck tokenizer train`.</source>
   <translation>`potluck tokenizer train` দিয়ে একটি বানান।</translation>
  </message>
  <message>
   <source>Training</source>
   <translation>প্রশিক্ষণে</translation>
  </message>
  <message>
   <source>Training can use {titles}. All of them are used.</source>
   <translation>প্রশিক্ষণে লাগতে পারে {titles}। সবগুলোই ব্যবহার হয়।</translation>
  </message>
  <message>
   <source>Training can use {titles}. The first of them is used.</source>
   <translation>প্রশিক্ষণে লাগতে পারে {titles}। প্রথমটি ব্যবহার হয়।</translation>
  </message>
  <message>
   <source>Training can use {titles}. The settings say {wish}, and there is no {missing} now.</source>
   <translation>প্রশিক্ষণে লাগতে পারে {titles}। সেটিংসে {wish}, আর এখন {missing} নেই।</translation>
  </message>
  <message>
   <source>Training can use {titles}. The settings say {wish}.</source>
   <translation>প্রশিক্ষণে লাগতে পারে {titles}। সেটিংসে {wish}।</translation>
  </message>
  <message>
   <source>Training cannot keep to that much memory.</source>
   <translation>প্রশিক্ষণ এত মেমরিতে চলতে পারে না।</translation>
  </message>
  <message>
   <source>Training ended at its start again and again; it is tried with the processor alone.</source>
   <translation>প্রশিক্ষণ শুরুতেই বারবার শেষ হয়ে গেছে; শুধু প্রসেসর দিয়ে চেষ্টা হচ্ছে।</translation>
  </message>
  <message>
   <source>Training goes on from the last saved state.</source>
   <translation>প্রশিক্ষণ শেষ সংরক্ষিত অবস্থা থেকে চলছে।</translation>
  </message>
  <message>
   <source>Training goes on from the last saved state; if it happens again, the learning rate is too high.</source>
   <translation>প্রশিক্ষণ শেষ সংরক্ষিত অবস্থা থেকে চলছে; আবার হলে শেখার হার খুব বেশি।</translation>
  </message>
  <message>
   <source>Training goes on from the last state that is whole.</source>
   <translation>প্রশিক্ষণ শেষ অক্ষত অবস্থা থেকে চলছে।</translation>
  </message>
  <message>
   <source>Training loss</source>
   <translation>প্রশিক্ষণের লস</translation>
  </message>
  <message>
   <source>Training needs torch, which is not part of Potluck's own package. Without it this computer averages what others have trained.</source>
   <translation>প্রশিক্ষণের torch লাগে, যা Potluck-এর নিজের প্যাকেজে নেই। তা ছাড়া এই কম্পিউটার অন্যদের প্রশিক্ষণের গড় করে।</translation>
  </message>
  <message>
   <source>Training runs on</source>
   <translation>প্রশিক্ষণ চলে</translation>
  </message>
  <message>
   <source>Training runs on the processor; torch finds no other device here.</source>
   <translation>প্রশিক্ষণ প্রসেসরে চলে; torch এখানে অন্য যন্ত্র পায় না।</translation>
  </message>
  <message>
   <source>Training stands still for some minutes at first, and is faster then on some devices.</source>
   <translation>প্রশিক্ষণ প্রথমে কয়েক মিনিট থেমে থাকে, পরে কিছু যন্ত্রে দ্রুত হয়।</translation>
  </message>
  <message>
   <source>Training stopped: {why}.</source>
   <translation>প্রশিক্ষণ থেমে গেছে: {why}।</translation>
  </message>
  <message>
   <source>Training the tokenizer</source>
   <translation>টোকেনাইজার প্রশিক্ষণ</translation>
  </message>
  <message>
   <source>Training this model takes at least {needed} of memory, and {free} are free.</source>
   <translation>এই মডেলের প্রশিক্ষণে অন্তত {needed} মেমরি লাগে, আর খালি আছে {free}।</translation>
  </message>
  <message>
   <source>Training this model takes more than {used} of memory, and you allow {limit_bytes}.</source>
   <translation>এই মডেলের প্রশিক্ষণে {used}-এর বেশি মেমরি লাগে, আর আপনি {limit_bytes} দিয়েছেন।</translation>
  </message>
  <message>
   <source>Training waits for an expert of layer {layer}; {live} of all {places} are live. It goes on by itself.</source>
   <translation>প্রশিক্ষণ {layer} স্তরের এক্সপার্টের অপেক্ষায়; মোট {places}টির {live}টি চালু। নিজে থেকেই চলবে।</translation>
  </message>
  <message>
   <source>Training {company}.</source>
   <translation>প্রশিক্ষণ দিচ্ছে {company}।</translation>
  </message>
  <message>
   <source>Training {company}: all {target} samples for step {epoch} are gathered.</source>
   <translation>প্রশিক্ষণ দিচ্ছে {company}: {epoch} ধাপের {target}টি নমুনার সবগুলো জমেছে।</translation>
  </message>
  <message>
   <source>Training {company}: {samples} of {target} samples for step {epoch}.</source>
   <translation>প্রশিক্ষণ দিচ্ছে {company}: {epoch} ধাপের {target}টি নমুনার {samples}টি।</translation>
  </message>
  <message>
   <source>Trains on</source>
   <translation>যেখানে প্রশিক্ষণ</translation>
  </message>
  <message>
   <source>Try a&amp;lone</source>
   <translation>একা পরখ করুন (&amp;L)</translation>
  </message>
  <message>
   <source>Try again another day: your invitation stays as it is.</source>
   <translation>অন্য দিন আবার চেষ্টা করুন: আপনার আমন্ত্রণ যেমন আছে তেমনই থাকে।</translation>
  </message>
  <message>
   <source>Try again in a minute.</source>
   <translation>এক মিনিট পরে আবার চেষ্টা করুন।</translation>
  </message>
  <message>
   <source>Try again in a moment.</source>
   <translation>একটু পরে আবার চেষ্টা করুন।</translation>
  </message>
  <message>
   <source>Try again in some minutes, or ask the organiser for a new link.</source>
   <translation>কয়েক মিনিট পরে আবার চেষ্টা করুন, বা আয়োজকের কাছে নতুন লিংক চান।</translation>
  </message>
  <message>
   <source>Try again later, or in another network. If it stays so, tell the people who make Potluck.</source>
   <translation>পরে, বা অন্য নেটওয়ার্কে আবার চেষ্টা করুন। এমনই থাকলে যাঁরা Potluck বানান তাঁদের জানান।</translation>
  </message>
  <message>
   <source>Try again later.</source>
   <translation>পরে আবার চেষ্টা করুন।</translation>
  </message>
  <message>
   <source>Try again later: it goes on where it was. Behind a proxy, set HTTPS_PROXY.</source>
   <translation>পরে আবার চেষ্টা করুন: যেখানে ছিল সেখান থেকে চলবে। প্রক্সির পিছনে HTTPS_PROXY ঠিক করুন।</translation>
  </message>
  <message>
   <source>Try again when it has less to do, or name another source.</source>
   <translation>এর কাজ কমলে আবার চেষ্টা করুন, বা অন্য উৎসের নাম দিন।</translation>
  </message>
  <message>
   <source>Try again when more volunteers are here.</source>
   <translation>আরও স্বেচ্ছাসেবক এলে আবার চেষ্টা করুন।</translation>
  </message>
  <message>
   <source>Try again.</source>
   <translation>আবার চেষ্টা করুন।</translation>
  </message>
  <message>
   <source>Try alone</source>
   <translation>একা পরখ করুন</translation>
  </message>
  <message>
   <source>Try it</source>
   <translation>পরখ করুন</translation>
  </message>
  <message>
   <source>Try it alone &amp;first</source>
   <translation>আগে একা পরখ করুন (&amp;F)</translation>
  </message>
  <message>
   <source>Try it on another member's.</source>
   <translation>অন্য সদস্যেরটিতে পরখ করুন।</translation>
  </message>
  <message>
   <source>Try now</source>
   <translation>এখনই চেষ্টা করুন</translation>
  </message>
  <message>
   <source>Try: ssh {computer}</source>
   <translation>চেষ্টা করুন: ssh {computer}</translation>
  </message>
  <message>
   <source>Trying now…</source>
   <translation>চেষ্টা চলছে…</translation>
  </message>
  <message>
   <source>Trying whether it starts…</source>
   <translation>চালু হয় কি না দেখা হচ্ছে…</translation>
  </message>
  <message>
   <source>Tuesday</source>
   <translation>মঙ্গলবার</translation>
  </message>
  <message>
   <source>Turn on UPnP or NAT-PMP in the router, or forward the port that `potluck doctor` names to this computer. Until then it trains as usual, but does not average for others.</source>
   <translation>রাউটারে UPnP বা NAT-PMP চালু করুন, বা `potluck doctor` যে পোর্ট বলে তা এই কম্পিউটারে এগিয়ে দিন। ততক্ষণ প্রশিক্ষণ আগের মতোই চলে, কিন্তু অন্যদের জন্য গড় করে না।</translation>
  </message>
  <message>
   <source>Turn on automatic date and time in the system's settings; other computers refuse messages of a wrong time.</source>
   <translation>সিস্টেমের সেটিংসে স্বয়ংক্রিয় তারিখ ও সময় চালু করুন; অন্য কম্পিউটার ভুল সময়ের বার্তা ফিরিয়ে দেয়।</translation>
  </message>
  <message>
   <source>Type again: potluck moderate page</source>
   <translation>আবার লিখুন: potluck moderate page</translation>
  </message>
  <message>
   <source>Type it as it was when the key was sealed, or take another copy of it.</source>
   <translation>চাবি বন্ধ করার সময় যেমন ছিল তেমন লিখুন, বা তার অন্য কপি নিন।</translation>
  </message>
  <message>
   <source>Type: chmod 600 {file}</source>
   <translation>লিখুন: chmod 600 {file}</translation>
  </message>
  <message>
   <source>Unlock the keyring (and unset POTLUCK_KEYRING), then start Potluck again. {also}</source>
   <translation>চাবির গোছা খুলুন (আর POTLUCK_KEYRING তুলে নিন), তারপর Potluck আবার চালু করুন। {also}</translation>
  </message>
  <message>
   <source>Unlock the keyring (and unset POTLUCK_KEYRING), then try again.</source>
   <translation>চাবির গোছা খুলুন (আর POTLUCK_KEYRING তুলে নিন), তারপর আবার চেষ্টা করুন।</translation>
  </message>
  <message>
   <source>Unpacking: {done} of {total}</source>
   <translation>খোলা হচ্ছে: {total}-এর {done}</translation>
  </message>
  <message>
   <source>Until &amp;tomorrow</source>
   <translation>কাল পর্যন্ত (&amp;T)</translation>
  </message>
  <message>
   <source>Until it is empty</source>
   <translation>খালি না হওয়া পর্যন্ত</translation>
  </message>
  <message>
   <source>Until there was no &amp;input for</source>
   <translation>ইনপুট ছাড়া এত সময় না গেলে (&amp;I)</translation>
  </message>
  <message>
   <source>Up to {size} each way for a step of the model. {cost}</source>
   <translation>মডেলের এক ধাপে দুই দিকে {size} পর্যন্ত। {cost}</translation>
  </message>
  <message>
   <source>Update Potluck here.</source>
   <translation>এখানে Potluck হালনাগাদ করুন।</translation>
  </message>
  <message>
   <source>Update Potluck, and look at it again.</source>
   <translation>Potluck হালনাগাদ করুন, তারপর এটি আবার দেখুন।</translation>
  </message>
  <message>
   <source>Update Potluck, if the collaboration is of a newer version; else ask for its link again.</source>
   <translation>সহযোগিতাটি নতুন সংস্করণের হলে Potluck হালনাগাদ করুন; নইলে আবার লিংক চান।</translation>
  </message>
  <message>
   <source>Update Potluck, then open the link again.</source>
   <translation>Potluck হালনাগাদ করুন, তারপর লিংকটি আবার খুলুন।</translation>
  </message>
  <message>
   <source>Update Potluck, then sign in again.</source>
   <translation>Potluck হালনাগাদ করুন, তারপর আবার সাইন ইন করুন।</translation>
  </message>
  <message>
   <source>Update Potluck.</source>
   <translation>Potluck হালনাগাদ করুন।</translation>
  </message>
  <message>
   <source>Update Potluck; nothing was changed.</source>
   <translation>Potluck হালনাগাদ করুন; কিছু বদলানো হয়নি।</translation>
  </message>
  <message>
   <source>Update Potluck…</source>
   <translation>Potluck হালনাগাদ করুন…</translation>
  </message>
  <message>
   <source>Use connections that &amp;cost money by the megabyte</source>
   <translation>মেগাবাইট গুনে খরচ হয় এমন সংযোগ ব্যবহার (&amp;C)</translation>
  </message>
  <message>
   <source>Use fewer words.</source>
   <translation>কম শব্দ ব্যবহার করুন।</translation>
  </message>
  <message>
   <source>Use it again</source>
   <translation>আবার ব্যবহার করুন</translation>
  </message>
  <message>
   <source>Use printable letters.</source>
   <translation>ছাপা যায় এমন অক্ষর ব্যবহার করুন।</translation>
  </message>
  <message>
   <source>Use the card {name} again</source>
   <translation>{name} কার্ড আবার ব্যবহার করুন</translation>
  </message>
  <message>
   <source>Use the window or the command line of the one that runs, or stop it with: potluck quit</source>
   <translation>যেটি চলছে তার জানালা বা কমান্ড ব্যবহার করুন, বা থামান: potluck quit</translation>
  </message>
  <message>
   <source>Version {version} did not start on this computer, so {running} runs. It is not taken again.</source>
   <translation>{version} সংস্করণ এই কম্পিউটারে চালু হয়নি, তাই {running} চলছে। সেটি আর নেওয়া হবে না।</translation>
  </message>
  <message>
   <source>Volunteer</source>
   <translation>স্বেচ্ছাসেবক</translation>
  </message>
  <message>
   <source>Volunteers that nobody can call reach others through this computer, within small limits.</source>
   <translation>যে স্বেচ্ছাসেবকদের ডাকা যায় না তাঁরা অল্প সীমার মধ্যে এই কম্পিউটার দিয়ে অন্যদের কাছে পৌঁছান।</translation>
  </message>
  <message>
   <source>W&amp;ho made it</source>
   <translation>কার তৈরি (&amp;H)</translation>
  </message>
  <message>
   <source>Wait a minute and try again: what is here already is kept.</source>
   <translation>এক মিনিট অপেক্ষা করে আবার চেষ্টা করুন: যা এসে গেছে তা থাকে।</translation>
  </message>
  <message>
   <source>Wait a moment.</source>
   <translation>একটু অপেক্ষা করুন।</translation>
  </message>
  <message>
   <source>Wait for half a minute.</source>
   <translation>আধ মিনিট অপেক্ষা করুন।</translation>
  </message>
  <message>
   <source>Wait for it, or name another folder: --charter.</source>
   <translation>এর জন্য অপেক্ষা করুন, বা অন্য ফোল্ডারের নাম দিন: --charter।</translation>
  </message>
  <message>
   <source>Wait for it, or stop it.</source>
   <translation>এর জন্য অপেক্ষা করুন, বা থামান।</translation>
  </message>
  <message>
   <source>Wait for some minutes, then sign in again.</source>
   <translation>কয়েক মিনিট অপেক্ষা করুন, তারপর আবার সাইন ইন করুন।</translation>
  </message>
  <message>
   <source>Wait for some minutes.</source>
   <translation>কয়েক মিনিট অপেক্ষা করুন।</translation>
  </message>
  <message>
   <source>Wait for their answers.</source>
   <translation>তাঁদের উত্তরের অপেক্ষা করুন।</translation>
  </message>
  <message>
   <source>Wait until the other window or command is ready.</source>
   <translation>অন্য জানালা বা কমান্ড শেষ হওয়া পর্যন্ত অপেক্ষা করুন।</translation>
  </message>
  <message>
   <source>Waiting</source>
   <translation>অপেক্ষায়</translation>
  </message>
  <message>
   <source>Waiting for experts</source>
   <translation>এক্সপার্টের অপেক্ষায়</translation>
  </message>
  <message>
   <source>Waiting for text</source>
   <translation>লেখার অপেক্ষায়</translation>
  </message>
  <message>
   <source>Waiting for the first text to learn from.</source>
   <translation>শেখার প্রথম লেখার অপেক্ষায়।</translation>
  </message>
  <message>
   <source>Waiting until you have signed in, for {minutes} min…</source>
   <translation>আপনি সাইন ইন না করা পর্যন্ত {minutes} min অপেক্ষা…</translation>
  </message>
  <message>
   <source>Waits</source>
   <translation>অপেক্ষায়</translation>
  </message>
  <message>
   <source>Wants to read</source>
   <translation>যা পড়তে চায়</translation>
  </message>
  <message>
   <source>Warming up the pot</source>
   <translation>হাঁড়ি গরম হচ্ছে</translation>
  </message>
  <message>
   <source>Warnings</source>
   <translation>সতর্কতা</translation>
  </message>
  <message>
   <source>Wednesday</source>
   <translation>বুধবার</translation>
  </message>
  <message>
   <source>Welcome to Potluck</source>
   <translation>Potluck-এ স্বাগতম</translation>
  </message>
  <message>
   <source>What comes to this computer</source>
   <translation>এই কম্পিউটারে যা আসে</translation>
  </message>
  <message>
   <source>What for</source>
   <translation>কী জন্য</translation>
  </message>
  <message>
   <source>What happened</source>
   <translation>যা ঘটেছে</translation>
  </message>
  <message>
   <source>What is &amp;new…</source>
   <translation>নতুন কী (&amp;N)…</translation>
  </message>
  <message>
   <source>What is a sample?</source>
   <translation>নমুনা কী?</translation>
  </message>
  <message>
   <source>What is here already is kept, and it goes on there the next time.</source>
   <translation>যা এসে গেছে তা থাকে, পরের বার সেখান থেকেই চলে।</translation>
  </message>
  <message>
   <source>What is learned</source>
   <translation>যা শেখা হয়</translation>
  </message>
  <message>
   <source>What is left was kept as {name}. Put a copy back, or start again to join with a new key.</source>
   <translation>যা বাকি আছে {name} নামে রাখা হয়েছে। একটি কপি ফিরিয়ে রাখুন, বা নতুন চাবি নিয়ে যোগ দিতে আবার চালু করুন।</translation>
  </message>
  <message>
   <source>What it can do is measured every few steps; that is still to come.</source>
   <translation>এটি কী পারে কয়েক ধাপ পর পর মাপা হয়; তা এখনও বাকি।</translation>
  </message>
  <message>
   <source>What it can do now</source>
   <translation>এখন যা পারে</translation>
  </message>
  <message>
   <source>What it printed or logged says why.</source>
   <translation>কেন তা এর ছাপা বা লগে লেখা আছে।</translation>
  </message>
  <message>
   <source>What it wrote above says why.</source>
   <translation>কেন তা উপরে এর লেখায় আছে।</translation>
  </message>
  <message>
   <source>What leaves this computer</source>
   <translation>এই কম্পিউটার থেকে যা যায়</translation>
  </message>
  <message>
   <source>What names a column is is:COLUMN, least:COLUMN or most:COLUMN.</source>
   <translation>কলামের নাম দেয় is:COLUMN, least:COLUMN বা most:COLUMN।</translation>
  </message>
  <message>
   <source>What runs here</source>
   <translation>এখানে যা চলে</translation>
  </message>
  <message>
   <source>What starts at login could not be found out.</source>
   <translation>লগইনের সময় কী চালু হয় তা জানা যায়নি।</translation>
  </message>
  <message>
   <source>What the collaboration's page answers cannot be read.</source>
   <translation>প্রকল্পের পাতার উত্তর পড়া যায় না।</translation>
  </message>
  <message>
   <source>What the model says</source>
   <translation>মডেল যা বলে</translation>
  </message>
  <message>
   <source>What the organiser cannot do</source>
   <translation>আয়োজক যা পারেন না</translation>
  </message>
  <message>
   <source>What was answered is not what the people who make Potluck have signed, so nothing was changed.</source>
   <translation>যে উত্তর এসেছে তাতে Potluck-এর নির্মাতাদের সই নেই, তাই কিছু বদলানো হয়নি।</translation>
  </message>
  <message>
   <source>What was given day by day could not be read; the damaged file is {name}.</source>
   <translation>দিনে দিনে কী দেওয়া হয়েছে পড়া যায়নি; নষ্ট ফাইলটি {name}।</translation>
  </message>
  <message>
   <source>What was said above says why.</source>
   <translation>কেন তা উপরে বলা আছে।</translation>
  </message>
  <message>
   <source>What was said cannot be used: {error}.</source>
   <translation>যা বলা হয়েছে তা ব্যবহার করা যায় না: {error}।</translation>
  </message>
  <message>
   <source>What you gave stays in the model.</source>
   <translation>আপনি যা দিয়েছেন তা মডেলে থাকে।</translation>
  </message>
  <message>
   <source>What you got by signing in lets nobody in any more.</source>
   <translation>সাইন ইন করে আপনি যা পেয়েছিলেন তা আর কাউকে ঢুকতে দেয় না।</translation>
  </message>
  <message>
   <source>When</source>
   <translation>কখন</translation>
  </message>
  <message>
   <source>When &amp;nobody is reached</source>
   <translation>কারও কাছে পৌঁছানো না গেলে (&amp;N)</translation>
  </message>
  <message>
   <source>When I &amp;log in starts</source>
   <translation>লগইন করলে চালু হয় (&amp;L)</translation>
  </message>
  <message>
   <source>When hotter &amp;than</source>
   <translation>এর বেশি গরম হলে (&amp;T)</translation>
  </message>
  <message>
   <source>When it computes</source>
   <translation>কখন হিসাব</translation>
  </message>
  <message>
   <source>When it ran</source>
   <translation>কখন চলেছে</translation>
  </message>
  <message>
   <source>When something is &amp;reached, such as 100 steps</source>
   <translation>কিছু অর্জন হলে, যেমন 100টি ধাপ (&amp;R)</translation>
  </message>
  <message>
   <source>When the &amp;disk is full</source>
   <translation>ডিস্ক ভরে গেলে (&amp;D)</translation>
  </message>
  <message>
   <source>When the collaboration &amp;ends</source>
   <translation>প্রকল্প শেষ হলে (&amp;E)</translation>
  </message>
  <message>
   <source>When the window c&amp;loses</source>
   <translation>জানালা বন্ধ হলে (&amp;L)</translation>
  </message>
  <message>
   <source>When training &amp;stops and needs you</source>
   <translation>প্রশিক্ষণ থেমে আপনাকে লাগলে (&amp;S)</translation>
  </message>
  <message>
   <source>Where it &amp;is said</source>
   <translation>যেখানে বলা হয় (&amp;I)</translation>
  </message>
  <message>
   <source>Where its text comes from</source>
   <translation>এর লেখা যেখান থেকে আসে</translation>
  </message>
  <message>
   <source>Where the model goes</source>
   <translation>মডেল যেখানে যায়</translation>
  </message>
  <message>
   <source>Where the shards lie beside their index, leave the address out: the backbone gives them.</source>
   <translation>খণ্ডগুলো সূচির পাশে থাকলে ঠিকানা বাদ দিন: ব্যাকবোন সেগুলো দেয়।</translation>
  </message>
  <message>
   <source>Where updates lie answers too slowly, so nothing was changed.</source>
   <translation>হালনাগাদ যেখানে আছে তা খুব ধীরে উত্তর দেয়, তাই কিছু বদলানো হয়নি।</translation>
  </message>
  <message>
   <source>Where updates lie does not answer.</source>
   <translation>হালনাগাদ যেখানে আছে তা উত্তর দেয় না।</translation>
  </message>
  <message>
   <source>Which of it</source>
   <translation>এর কোনটি</translation>
  </message>
  <message>
   <source>While somebody uses this computer</source>
   <translation>কেউ এই কম্পিউটার ব্যবহার করলে</translation>
  </message>
  <message>
   <source>Who decides</source>
   <translation>কে সিদ্ধান্ত নেন</translation>
  </message>
  <message>
   <source>Who is here</source>
   <translation>কে আছেন</translation>
  </message>
  <message>
   <source>Who lets people in</source>
   <translation>কে মানুষকে ঢুকতে দেন</translation>
  </message>
  <message>
   <source>Who may join</source>
   <translation>কে যোগ দিতে পারেন</translation>
  </message>
  <message>
   <source>Who may take part</source>
   <translation>কে অংশ নিতে পারেন</translation>
  </message>
  <message>
   <source>Who reaches this computer</source>
   <translation>কে এই কম্পিউটারে পৌঁছান</translation>
  </message>
  <message>
   <source>Why: {words}</source>
   <translation>কারণ: {words}</translation>
  </message>
  <message>
   <source>Why? Everybody can read it.</source>
   <translation>কেন? সবাই তা পড়তে পারেন।</translation>
  </message>
  <message>
   <source>Windows removes it: Settings, Apps, Potluck, Uninstall.</source>
   <translation>Windows এটি সরায়: সেটিংস, অ্যাপস, Potluck, আনইনস্টল।</translation>
  </message>
  <message>
   <source>With a link, from a list of open ones, or one of your own. This computer trains alone where it has joined none.</source>
   <translation>লিংক দিয়ে, খোলা প্রকল্পের তালিকা থেকে, বা নিজেরটি। কোনোটিতে যোগ না দিলে এই কম্পিউটার একা প্রশিক্ষণ দেয়।</translation>
  </message>
  <message>
   <source>With no hour left, Potluck would never work.</source>
   <translation>একটি ঘণ্টাও না থাকলে Potluck কখনও কাজ করত না।</translation>
  </message>
  <message>
   <source>With this width and codec micro_batch must be at most {most}, so that a call carries it, not {size}.</source>
   <translation>এই প্রস্থ ও কোডেকে micro_batch বড়জোর {most} হতে হবে, যাতে একটি ডাক তা বইতে পারে, {size} নয়।</translation>
  </message>
  <message>
   <source>With {month} a month this computer could not take part.</source>
   <translation>মাসে {month} হলে এই কম্পিউটার অংশ নিতে পারত না।</translation>
  </message>
  <message>
   <source>With {rate} this computer could not stay in touch with the others.</source>
   <translation>{rate} হলে এই কম্পিউটার অন্যদের সঙ্গে যোগাযোগ রাখতে পারত না।</translation>
  </message>
  <message>
   <source>Withdraw some of them.</source>
   <translation>এর কয়েকটি তুলে নিন।</translation>
  </message>
  <message>
   <source>Without an end</source>
   <translation>শেষ নেই</translation>
  </message>
  <message>
   <source>Without its window Potluck goes on as it is. {place} When you quit, nothing is computed any more.

Your answer is remembered. You can change it in the menu Potluck, When the window closes.</source>
   <translation>জানালা ছাড়াও Potluck যেমন আছে তেমনই চলে। {place} বেরিয়ে গেলে আর কিছু হিসাব হয় না।

আপনার উত্তর মনে রাখা হয়। Potluck মেনুর "জানালা বন্ধ হলে" থেকে বদলাতে পারেন।</translation>
  </message>
  <message>
   <source>Words for blank {number}</source>
   <translation>{number} নম্বর শূন্যস্থানের শব্দ</translation>
  </message>
  <message>
   <source>Words go with an answer.</source>
   <translation>উত্তরের সঙ্গে কথা থাকতে হবে।</translation>
  </message>
  <message>
   <source>Write HOST:PORT, as the backbone has told it.</source>
   <translation>ব্যাকবোন যেমন বলেছে তেমন HOST:PORT লিখুন।</translation>
  </message>
  <message>
   <source>Write KEY=VALUE: --set optimizer.learning_rate=0.002</source>
   <translation>KEY=VALUE লিখুন: --set optimizer.learning_rate=0.002</translation>
  </message>
  <message>
   <source>Write OWNER/NAME, such as ada/rhymes.</source>
   <translation>OWNER/NAME লিখুন, যেমন ada/rhymes।</translation>
  </message>
  <message>
   <source>Write SOURCE/SHARD/ROW: 0/3/17.</source>
   <translation>SOURCE/SHARD/ROW লিখুন: 0/3/17।</translation>
  </message>
  <message>
   <source>Write a sentence first, with ___ for a word that is missing.</source>
   <translation>আগে একটি বাক্য লিখুন, যে শব্দ নেই তার জায়গায় ___ দিয়ে।</translation>
  </message>
  <message>
   <source>Write a sentence, with ___ for a word that is missing</source>
   <translation>একটি বাক্য লিখুন, যে শব্দ নেই তার জায়গায় ___ দিয়ে</translation>
  </message>
  <message>
   <source>Write all of it with potluck export DIR, whose README.md says how it is loaded.</source>
   <translation>potluck export DIR দিয়ে পুরোটা লিখুন; তার README.md বলে কীভাবে লোড করতে হয়।</translation>
  </message>
  <message>
   <source>Write an IP address, or a name such as potluck.example.org, without a port.</source>
   <translation>একটি IP ঠিকানা, বা potluck.example.org-এর মতো নাম লিখুন, পোর্ট ছাড়া।</translation>
  </message>
  <message>
   <source>Write each source below a line [[data]].</source>
   <translation>প্রতিটি উৎস [[data]] লাইনের নিচে লিখুন।</translation>
  </message>
  <message>
   <source>Write it from the root on.</source>
   <translation>মূল থেকে লিখুন।</translation>
  </message>
  <message>
   <source>Write it like this: 1h, 30min, 2d.</source>
   <translation>এভাবে লিখুন: 1h, 30min, 2d।</translation>
  </message>
  <message>
   <source>Write it like this: 2026-11-24, or '2026-11-24 18:30'.</source>
   <translation>এভাবে লিখুন: 2026-11-24, বা '2026-11-24 18:30'।</translation>
  </message>
  <message>
   <source>Write it like this: 2mbit (a second), 500kbit, 1.5MB, or none for no limit.</source>
   <translation>এভাবে লিখুন: 2mbit (সেকেন্ডে), 500kbit, 1.5MB, বা সীমা না রাখতে none।</translation>
  </message>
  <message>
   <source>Write it like this: 50GB, 800MB, or none for no limit.</source>
   <translation>এভাবে লিখুন: 50GB, 800MB, বা সীমা না রাখতে none।</translation>
  </message>
  <message>
   <source>Write it like this: characters_least=3.</source>
   <translation>এভাবে লিখুন: characters_least=3।</translation>
  </message>
  <message>
   <source>Write it like this: {example}</source>
   <translation>এভাবে লিখুন: {example}</translation>
  </message>
  <message>
   <source>Write one name a line there.</source>
   <translation>সেখানে প্রতি লাইনে একটি নাম লিখুন।</translation>
  </message>
  <message>
   <source>Write them as {"threads": 2}.</source>
   <translation>সেগুলো {"threads": 2} হিসেবে লিখুন।</translation>
  </message>
  <message>
   <source>Write tomorrow, or a time of the day like this: 18:30.</source>
   <translation>tomorrow লিখুন, বা দিনের একটি সময় এভাবে: 18:30।</translation>
  </message>
  <message>
   <source>Write whole gigabytes, as in 4 or 4GB.</source>
   <translation>পূর্ণ গিগাবাইট লিখুন, যেমন 4 বা 4GB।</translation>
  </message>
  <message>
   <source>Writing for TensorBoard needs the package tensorboard, which is not installed.</source>
   <translation>TensorBoard-এর জন্য লিখতে tensorboard প্যাকেজ লাগে, যা ইনস্টল করা নেই।</translation>
  </message>
  <message>
   <source>Writing the files</source>
   <translation>ফাইল লেখা হচ্ছে</translation>
  </message>
  <message>
   <source>You and this computer</source>
   <translation>আপনি ও এই কম্পিউটার</translation>
  </message>
  <message>
   <source>You are not on the leaderboard yet: it counts what has become part of the model.</source>
   <translation>আপনি এখনও লিডারবোর্ডে নেই: যা মডেলের অংশ হয়েছে তা-ই এতে গোনা হয়।</translation>
  </message>
  <message>
   <source>You are not on the list of those whom this collaboration lets in.</source>
   <translation>এই প্রকল্প যাঁদের ঢুকতে দেয় আপনি তাঁদের তালিকায় নেই।</translation>
  </message>
  <message>
   <source>You are number {rank} of {all}.</source>
   <translation>{all} জনের মধ্যে আপনার স্থান {rank}।</translation>
  </message>
  <message>
   <source>You are signed out here.</source>
   <translation>আপনি এখানে সাইন আউট করেছেন।</translation>
  </message>
  <message>
   <source>You can make further links at any time, and shut somebody out. Your own computer needs none.</source>
   <translation>যেকোনো সময় আরও লিংক বানাতে, আর কাউকে বাদ দিতে পারেন। আপনার নিজের কম্পিউটারের লিংক লাগে না।</translation>
  </message>
  <message>
   <source>You founded it, and take no part in it now.</source>
   <translation>আপনি এটি শুরু করেছেন, আর এখন এতে অংশ নিচ্ছেন না।</translation>
  </message>
  <message>
   <source>You founded it, but its backbone does not run: {why}</source>
   <translation>আপনি এটি শুরু করেছেন, কিন্তু এর ব্যাকবোন চলছে না: {why}</translation>
  </message>
  <message>
   <source>You founded it. Its backbone is off: nobody new comes in, the others train on for 4 days.</source>
   <translation>আপনি এটি শুরু করেছেন। এর ব্যাকবোন বন্ধ: নতুন কেউ ঢোকে না, অন্যরা 4 দিন প্রশিক্ষণ চালান।</translation>
  </message>
  <message>
   <source>You founded it: its backbone on this computer stops too, and the others train on for 4 days without it. You can come back here, with all that was given.</source>
   <translation>আপনি এটি শুরু করেছেন: এই কম্পিউটারে এর ব্যাকবোনও থামে, আর সেটি ছাড়া অন্যরা 4 দিন প্রশিক্ষণ চালান। যা দেওয়া হয়েছে সব নিয়ে আপনি এখানে ফিরতে পারেন।</translation>
  </message>
  <message>
   <source>You founded it: its backbone, which lets others in, runs as long as Potluck does.</source>
   <translation>আপনি এটি শুরু করেছেন: এর ব্যাকবোন, যা অন্যদের ঢুকতে দেয়, Potluck যতক্ষণ চলে ততক্ষণ চলে।</translation>
  </message>
  <message>
   <source>You founded it: its backbone, which lets others in, starts with Potluck.</source>
   <translation>আপনি এটি শুরু করেছেন: এর ব্যাকবোন, যা অন্যদের ঢুকতে দেয়, Potluck-এর সঙ্গে চালু হয়।</translation>
  </message>
  <message>
   <source>You gave nothing yet</source>
   <translation>আপনি এখনও কিছু দেননি</translation>
  </message>
  <message>
   <source>You gave {samples} samples</source>
   <translation>আপনি {samples}টি নমুনা দিয়েছেন</translation>
  </message>
  <message>
   <source>You have asked to be let in, and a moderator has not answered yet.</source>
   <translation>আপনি ঢুকতে চেয়েছেন, কোনো মডারেটর এখনও উত্তর দেননি।</translation>
  </message>
  <message>
   <source>You have asked too often.</source>
   <translation>আপনি খুব বেশি বার চেয়েছেন।</translation>
  </message>
  <message>
   <source>You have left {collaboration}. What you gave stays in its model.</source>
   <translation>আপনি {collaboration} ছেড়ে গেছেন। আপনি যা দিয়েছেন তা এর মডেলে থাকে।</translation>
  </message>
  <message>
   <source>You sign in at {site}, in your browser.</source>
   <translation>আপনি নিজের ব্রাউজারে {site}-এ সাইন ইন করেন।</translation>
  </message>
  <message>
   <source>You switched the graphics card off for Potluck, and training runs on it.</source>
   <translation>আপনি Potluck-এর জন্য গ্রাফিক্স কার্ড বন্ধ করেছেন, আর প্রশিক্ষণ তাতেই চলে।</translation>
  </message>
  <message>
   <source>You switched the graphics card off for Potluck, and training runs on it. Potluck continues {moment}.</source>
   <translation>আপনি Potluck-এর জন্য গ্রাফিক্স কার্ড বন্ধ করেছেন, আর প্রশিক্ষণ তাতেই চলে। Potluck {moment} আবার চলবে।</translation>
  </message>
  <message>
   <source>You switched the network off for Potluck: nobody would get what is trained, so nothing is.</source>
   <translation>আপনি Potluck-এর জন্য নেটওয়ার্ক বন্ধ করেছেন: প্রশিক্ষণের ফল কেউ পেত না, তাই প্রশিক্ষণ হয় না।</translation>
  </message>
  <message>
   <source>You switched the network off for Potluck: nobody would get what is trained, so nothing is. Potluck continues {moment}.</source>
   <translation>আপনি Potluck-এর জন্য নেটওয়ার্ক বন্ধ করেছেন: প্রশিক্ষণের ফল কেউ পেত না, তাই প্রশিক্ষণ হয় না। Potluck {moment} আবার চলবে।</translation>
  </message>
  <message>
   <source>You take part in {name}.</source>
   <translation>আপনি {name}-এ অংশ নিচ্ছেন।</translation>
  </message>
  <message>
   <source>Your account has as many computers as it may, with those that were ended.</source>
   <translation>আপনার অ্যাকাউন্টে যত কম্পিউটার থাকতে পারে ততই আছে, শেষ হওয়াগুলোসহ।</translation>
  </message>
  <message>
   <source>Your account has asked too often.</source>
   <translation>আপনার অ্যাকাউন্ট খুব বেশি বার চেয়েছে।</translation>
  </message>
  <message>
   <source>Your account has ended this computer.</source>
   <translation>আপনার অ্যাকাউন্ট এই কম্পিউটার শেষ করেছে।</translation>
  </message>
  <message>
   <source>Your account is taken out.</source>
   <translation>আপনার অ্যাকাউন্ট তুলে নেওয়া হয়েছে।</translation>
  </message>
  <message>
   <source>Your choice holds, but only until the next start: {problem}</source>
   <translation>আপনার পছন্দ খাটে, কিন্তু শুধু পরের বার চালু হওয়া পর্যন্ত: {problem}</translation>
  </message>
  <message>
   <source>Your gift today</source>
   <translation>আজ আপনার অবদান</translation>
  </message>
  <message>
   <source>Your meter says less than {limit}. Potluck continues when it has said more for a minute.</source>
   <translation>আপনার মিটার {limit}-এর কম বলছে। এক মিনিট ধরে বেশি বললে Potluck আবার চলবে।</translation>
  </message>
  <message>
   <source>Your meter says more than {limit}. Potluck continues when it has said less for a minute.</source>
   <translation>আপনার মিটার {limit}-এর বেশি বলছে। এক মিনিট ধরে কম বললে Potluck আবার চলবে।</translation>
  </message>
  <message>
   <source>Your name</source>
   <translation>আপনার নাম</translation>
  </message>
  <message>
   <source>Your settings, your key and the models that are here stay in {folder}: delete that, too, if nothing is to stay.</source>
   <translation>আপনার সেটিংস, আপনার চাবি আর এখানকার মডেলগুলো {folder}-এ থাকে: কিছুই না রাখতে চাইলে সেটিও মুছে দিন।</translation>
  </message>
  <message>
   <source>Your software centre removes it, or in a terminal: sudo apt purge potluck</source>
   <translation>আপনার সফটওয়্যার কেন্দ্র এটি সরায়, বা টার্মিনালে: sudo apt purge potluck</translation>
  </message>
  <message>
   <source>Your system does not tell what the grey rules need: they would stop nothing.</source>
   <translation>ধূসর নিয়মগুলোর যা লাগে আপনার সিস্টেম তা বলে না: সেগুলো কিছুই থামাত না।</translation>
  </message>
  <message>
   <source>Your team {team} is number {rank} of {all}.</source>
   <translation>আপনার দল {team} {all}টির মধ্যে {rank} নম্বর।</translation>
  </message>
  <message>
   <source>Your token of the hub has letters that a token cannot have.</source>
   <translation>হাবে আপনার টোকেনে এমন অক্ষর আছে যা টোকেনে থাকতে পারে না।</translation>
  </message>
  <message>
   <source>Your upload limit of {limit} makes everybody's steps longer, about {longer} s instead of {shorter} s: the others wait until this computer has sent its part. You can raise it in the settings.</source>
   <translation>আপনার আপলোড সীমা {limit} সবার ধাপ লম্বা করে, {shorter} s-এর বদলে প্রায় {longer} s: এই কম্পিউটার তার অংশ না পাঠানো পর্যন্ত অন্যরা অপেক্ষা করে। সেটিংসে এটি বাড়াতে পারেন।</translation>
  </message>
  <message>
   <source>Your week</source>
   <translation>আপনার সপ্তাহ</translation>
  </message>
  <message>
   <source>[experts] must have width {width} and {layers} layers, as [model] has, not {other} and {others}.</source>
   <translation>[experts]-এর প্রস্থ {width} ও স্তর {layers}টি হতে হবে, [model]-এর মতো, {other} ও {others} নয়।</translation>
  </message>
  <message>
   <source>a computer</source>
   <translation>একটি কম্পিউটার</translation>
  </message>
  <message>
   <source>about {time} left</source>
   <translation>প্রায় {time} বাকি</translation>
  </message>
  <message>
   <source>after step {step}</source>
   <translation>{step} ধাপের পরে</translation>
  </message>
  <message>
   <source>ahead of</source>
   <translation>আগে</translation>
  </message>
  <message>
   <source>alone for now</source>
   <translation>আপাতত একা</translation>
  </message>
  <message>
   <source>an address, a file or a program that says a number: a price, the sun's watts</source>
   <translation>একটি ঠিকানা, ফাইল বা প্রোগ্রাম যা একটি সংখ্যা বলে: দাম, সৌরবিদ্যুতের ওয়াট</translation>
  </message>
  <message>
   <source>as on the page Hours; empty: at none</source>
   <translation>"সময়" পাতার মতো; খালি: কখনও নয়</translation>
  </message>
  <message>
   <source>as the recipe says</source>
   <translation>রেসিপিতে যেমন</translation>
  </message>
  <message>
   <source>as the system calls this computer</source>
   <translation>সিস্টেম এই কম্পিউটারকে যা বলে</translation>
  </message>
  <message>
   <source>as the system says</source>
   <translation>সিস্টেম যেমন বলে</translation>
  </message>
  <message>
   <source>ask everybody whether they go on at {name}</source>
   <translation>সবাই {name}-এ এগিয়ে চলবেন কি না জিজ্ঞাসা করা</translation>
  </message>
  <message>
   <source>at {clock}</source>
   <translation>{clock}-এ</translation>
  </message>
  <message>
   <source>averaged {numbers} numbers for everybody in {rounds} rounds</source>
   <translation>{rounds} রাউন্ডে সবার জন্য {numbers}টি সংখ্যার গড় করা হয়েছে</translation>
  </message>
  <message>
   <source>behind</source>
   <translation>পিছনে</translation>
  </message>
  <message>
   <source>blanks</source>
   <translation>শূন্যস্থান</translation>
  </message>
  <message>
   <source>by Wi-Fi</source>
   <translation>Wi-Fi দিয়ে</translation>
  </message>
  <message>
   <source>by cable</source>
   <translation>তার দিয়ে</translation>
  </message>
  <message>
   <source>by mobile radio</source>
   <translation>মোবাইল নেটওয়ার্কে</translation>
  </message>
  <message>
   <source>by step; lower is better</source>
   <translation>ধাপ ধরে; কম হলে ভালো</translation>
  </message>
  <message>
   <source>called, some time ago,</source>
   <translation>কিছুক্ষণ আগে ডেকেছিল</translation>
  </message>
  <message>
   <source>cannot be reached; Potluck looks for it from time to time</source>
   <translation>পৌঁছানো যায় না; Potluck মাঝে মাঝে খোঁজে</translation>
  </message>
  <message>
   <source>cents</source>
   <translation>সেন্ট</translation>
  </message>
  <message>
   <source>change {words} in a way that has no word here</source>
   <translation>{words} এমনভাবে বদলানো যার এখানে কোনো নাম নেই</translation>
  </message>
  <message>
   <source>computers</source>
   <translation>কম্পিউটার</translation>
  </message>
  <message>
   <source>days</source>
   <translation>দিন</translation>
  </message>
  <message>
   <source>digit frequencies</source>
   <translation>অঙ্কের গণসংখ্যা</translation>
  </message>
  <message>
   <source>digit loss</source>
   <translation>অঙ্কের লস</translation>
  </message>
  <message>
   <source>digits</source>
   <translation>অঙ্ক</translation>
  </message>
  <message>
   <source>does not compute ({error})</source>
   <translation>হিসাব করে না ({error})</translation>
  </message>
  <message>
   <source>does not compute in {precision} ({error})</source>
   <translation>{precision}-এ হিসাব করে না ({error})</translation>
  </message>
  <message>
   <source>does not let this computer take part</source>
   <translation>এই কম্পিউটারকে অংশ নিতে দেয় না</translation>
  </message>
  <message>
   <source>end all passes that the backbone {name} has given</source>
   <translation>{name} ব্যাকবোনের দেওয়া সব পাস শেষ করা</translation>
  </message>
  <message>
   <source>end the collaboration: {words}</source>
   <translation>প্রকল্প শেষ করা: {words}</translation>
  </message>
  <message>
   <source>ended</source>
   <translation>শেষ</translation>
  </message>
  <message>
   <source>fails: {error}</source>
   <translation>কাজ করে না: {error}</translation>
  </message>
  <message>
   <source>for a kilowatt-hour</source>
   <translation>প্রতি কিলোওয়াট-ঘণ্টায়</translation>
  </message>
  <message>
   <source>for text that is read on the way, and pieces of it that are kept for others</source>
   <translation>পথে পড়া লেখা, আর অন্যদের জন্য রাখা তার টুকরোর জন্য</translation>
  </message>
  <message>
   <source>gives wrong results</source>
   <translation>ভুল ফল দেয়</translation>
  </message>
  <message>
   <source>gives wrong results in {precision}</source>
   <translation>{precision}-এ ভুল ফল দেয়</translation>
  </message>
  <message>
   <source>go back to the model of step {count}, root {name}</source>
   <translation>{count} নম্বর ধাপের মডেলে ফেরা, মূল {name}</translation>
  </message>
  <message>
   <source>has come to its end</source>
   <translation>শেষ হয়ে গেছে</translation>
  </message>
  <message>
   <source>have called</source>
   <translation>ডেকেছে</translation>
  </message>
  <message>
   <source>have everybody compute again</source>
   <translation>সবাইকে আবার হিসাব করানো</translation>
  </message>
  <message>
   <source>have nobody compute: {words}</source>
   <translation>সবার হিসাব থামানো: {words}</translation>
  </message>
  <message>
   <source>have the backbone {name} let nobody in any more</source>
   <translation>{name} ব্যাকবোন আর কাউকে ঢুকতে না দেওয়া</translation>
  </message>
  <message>
   <source>have the backbone {name} let people in, at {words}</source>
   <translation>{name} ব্যাকবোন {words}-এ মানুষকে ঢুকতে দেওয়া</translation>
  </message>
  <message>
   <source>have {count} of them agree</source>
   <translation>তাঁদের {count} জনের রাজি হওয়া লাগা</translation>
  </message>
  <message>
   <source>held-out loss {loss}</source>
   <translation>যাচাইয়ের লস {loss}</translation>
  </message>
  <message>
   <source>how collaborations that you join from now on call this computer</source>
   <translation>এখন থেকে যেসব প্রকল্পে যোগ দেবেন সেগুলোতে এই কম্পিউটারের নাম</translation>
  </message>
  <message>
   <source>in a way not known</source>
   <translation>অজানা উপায়ে</translation>
  </message>
  <message>
   <source>in the processor, or in a card</source>
   <translation>প্রসেসরে, বা একটি কার্ডে</translation>
  </message>
  <message>
   <source>in the processor, or in the card that computes</source>
   <translation>প্রসেসরে, বা যে কার্ড হিসাব করে তাতে</translation>
  </message>
  <message>
   <source>is no faster in {precision} than in fp32 ({times} times as long)</source>
   <translation>{precision}-এ fp32-র চেয়ে দ্রুত নয় ({times} গুণ সময়)</translation>
  </message>
  <message>
   <source>is used by another program</source>
   <translation>অন্য একটি প্রোগ্রাম ব্যবহার করছে</translation>
  </message>
  <message>
   <source>it &amp;computes</source>
   <translation>হিসাব চলে (&amp;C)</translation>
  </message>
  <message>
   <source>it computes at &amp;most</source>
   <translation>হিসাব বড়জোর (&amp;M)</translation>
  </message>
  <message>
   <source>it says {number} now</source>
   <translation>এখন বলছে {number}</translation>
  </message>
  <message>
   <source>its founder</source>
   <translation>এর শুরু যিনি করেছেন</translation>
  </message>
  <message>
   <source>let newcomers in by invitations again</source>
   <translation>নতুনদের আবার আমন্ত্রণে ঢুকতে দেওয়া</translation>
  </message>
  <message>
   <source>let nobody new in</source>
   <translation>নতুন কাউকে ঢুকতে না দেওয়া</translation>
  </message>
  <message>
   <source>let {name} in again</source>
   <translation>{name}-কে আবার ঢুকতে দেওয়া</translation>
  </message>
  <message>
   <source>letter frequencies</source>
   <translation>অক্ষরের গণসংখ্যা</translation>
  </message>
  <message>
   <source>letters</source>
   <translation>অক্ষর</translation>
  </message>
  <message>
   <source>make {name} a moderator</source>
   <translation>{name}-কে মডারেটর করা</translation>
  </message>
  <message>
   <source>memory ran out</source>
   <translation>মেমরি ফুরিয়ে গেছে</translation>
  </message>
  <message>
   <source>min</source>
   <translation>min</translation>
  </message>
  <message>
   <source>more is drawn while this computer contributes</source>
   <translation>অবদান রাখার সময় এই কম্পিউটার বেশি নেয়</translation>
  </message>
  <message>
   <source>names as above, or folders such as ~/Games; both lists take them</source>
   <translation>উপরের মতো নাম, বা ~/Games-এর মতো ফোল্ডার; দুই তালিকাতেই চলে</translation>
  </message>
  <message>
   <source>nats</source>
   <translation>nat</translation>
  </message>
  <message>
   <source>no key, no touch, no movement of the mouse</source>
   <translation>কোনো চাবি, ছোঁয়া বা মাউস নড়া নেই</translation>
  </message>
  <message>
   <source>nobody here yet</source>
   <translation>এখানে এখনও কেউ নেই</translation>
  </message>
  <message>
   <source>nobody is named</source>
   <translation>কারও নাম নেই</translation>
  </message>
  <message>
   <source>not named</source>
   <translation>নাম দেওয়া নেই</translation>
  </message>
  <message>
   <source>of a model with experts; they answer others, and 0 is for none</source>
   <translation>এক্সপার্টসহ মডেলের; তারা অন্যদের উত্তর দেয়, 0 মানে একটিও নয়</translation>
  </message>
  <message>
   <source>of its time</source>
   <translation>তার সময়</translation>
  </message>
  <message>
   <source>of the battery's charge, where Potluck may run on it</source>
   <translation>ব্যাটারির চার্জের, যেখানে Potluck ব্যাটারিতে চলতে পারে</translation>
  </message>
  <message>
   <source>of the computer, not of a graphics card</source>
   <translation>কম্পিউটারের, গ্রাফিক্স কার্ডের নয়</translation>
  </message>
  <message>
   <source>of the processor</source>
   <translation>প্রসেসরের</translation>
  </message>
  <message>
   <source>of the time</source>
   <translation>সময়</translation>
  </message>
  <message>
   <source>of the time, in place of the share on the first page</source>
   <translation>সময়, প্রথম পাতার ভাগের বদলে</translation>
  </message>
  <message>
   <source>of the time; less keeps the computer cool and quiet</source>
   <translation>সময়; কম হলে কম্পিউটার ঠান্ডা ও চুপচাপ থাকে</translation>
  </message>
  <message>
   <source>of the time; the first page has a heat at which it rests</source>
   <translation>সময়; যে তাপে বিশ্রাম তা প্রথম পাতায়</translation>
  </message>
  <message>
   <source>of your money for a kilowatt-hour; My gift shows what yours comes to</source>
   <translation>আপনার মুদ্রায়, প্রতি কিলোওয়াট-ঘণ্টা; "আমার অবদান" মোট দেখায়</translation>
  </message>
  <message>
   <source>on {day} at {clock}</source>
   <translation>{day} {clock}-এ</translation>
  </message>
  <message>
   <source>one day</source>
   <translation>এক দিনে</translation>
  </message>
  <message>
   <source>parts clipped: {clipped}; dropped: {dropped}</source>
   <translation>ছাঁটা অংশ: {clipped}; বাদ: {dropped}</translation>
  </message>
  <message>
   <source>passed on {size} for computers that cannot be called</source>
   <translation>যাদের ডাকা যায় না তাদের জন্য {size} বয়ে দেওয়া</translation>
  </message>
  <message>
   <source>power</source>
   <translation>শক্তি</translation>
  </message>
  <message>
   <source>processor</source>
   <translation>প্রসেসর</translation>
  </message>
  <message>
   <source>programs that fill the screen</source>
   <translation>পুরো পর্দার প্রোগ্রাম</translation>
  </message>
  <message>
   <source>reading {name}</source>
   <translation>{name} পড়ছে</translation>
  </message>
  <message>
   <source>remote desktop</source>
   <translation>দূরের ডেস্কটপ</translation>
  </message>
  <message>
   <source>rpm</source>
   <translation>rpm</translation>
  </message>
  <message>
   <source>share</source>
   <translation>ভাগ</translation>
  </message>
  <message>
   <source>shut out {name}</source>
   <translation>{name}-কে বাদ দেওয়া</translation>
  </message>
  <message>
   <source>since {moment}</source>
   <translation>{moment} থেকে</translation>
  </message>
  <message>
   <source>step {epoch}</source>
   <translation>ধাপ {epoch}</translation>
  </message>
  <message>
   <source>such as a price of electricity</source>
   <translation>যেমন বিদ্যুতের দাম</translation>
  </message>
  <message>
   <source>such as the power that your roof has to spare</source>
   <translation>যেমন আপনার ছাদের বাড়তি বিদ্যুৎ</translation>
  </message>
  <message>
   <source>take {name} from the moderators</source>
   <translation>{name}-কে মডারেটরদের থেকে সরানো</translation>
  </message>
  <message>
   <source>taken by the processor, or by the card that computes</source>
   <translation>প্রসেসর, বা যে কার্ড হিসাব করে তা যা নেয়</translation>
  </message>
  <message>
   <source>tell everybody: {words}</source>
   <translation>সবাইকে জানানো: {words}</translation>
  </message>
  <message>
   <source>the backbone and other volunteers</source>
   <translation>ব্যাকবোন ও অন্য স্বেচ্ছাসেবকরা</translation>
  </message>
  <message>
   <source>the battery</source>
   <translation>ব্যাটারি</translation>
  </message>
  <message>
   <source>the beginning</source>
   <translation>শুরু</translation>
  </message>
  <message>
   <source>the documentation that came with Python</source>
   <translation>Python-এর সঙ্গে আসা নথি</translation>
  </message>
  <message>
   <source>the founder</source>
   <translation>আয়োজক</translation>
  </message>
  <message>
   <source>the last key or touch</source>
   <translation>শেষ চাবি বা ছোঁয়া</translation>
  </message>
  <message>
   <source>the letter before</source>
   <translation>আগের অক্ষর</translation>
  </message>
  <message>
   <source>the others</source>
   <translation>অন্যরা</translation>
  </message>
  <message>
   <source>the processor</source>
   <translation>প্রসেসর</translation>
  </message>
  <message>
   <source>the processor's heat</source>
   <translation>প্রসেসরের তাপ</translation>
  </message>
  <message>
   <source>the word before</source>
   <translation>আগের শব্দ</translation>
  </message>
  <message>
   <source>this computer</source>
   <translation>এই কম্পিউটার</translation>
  </message>
  <message>
   <source>through a router</source>
   <translation>রাউটার দিয়ে</translation>
  </message>
  <message>
   <source>today</source>
   <translation>আজ</translation>
  </message>
  <message>
   <source>together with one other</source>
   <translation>আরও একজনের সঙ্গে</translation>
  </message>
  <message>
   <source>together with {others} others</source>
   <translation>আরও {others} জনের সঙ্গে</translation>
  </message>
  <message>
   <source>traffic a day</source>
   <translation>দিনে ডেটা</translation>
  </message>
  <message>
   <source>turns a minute, of the fastest fan</source>
   <translation>মিনিটে ঘোরা, সবচেয়ে দ্রুত পাখার</translation>
  </message>
  <message>
   <source>what is received</source>
   <translation>যা আসে</translation>
  </message>
  <message>
   <source>what is sent</source>
   <translation>যা পাঠানো হয়</translation>
  </message>
  <message>
   <source>where others call this computer</source>
   <translation>অন্যরা যেখানে এই কম্পিউটারকে ডাকে</translation>
  </message>
  <message>
   <source>where training holds more, it rests and gives it back</source>
   <translation>প্রশিক্ষণ বেশি রাখলে বিশ্রাম নেয় ও তা ফিরিয়ে দেয়</translation>
  </message>
  <message>
   <source>while it rests, to go on at once; after that it is given back</source>
   <translation>বিশ্রামের সময়, যাতে সঙ্গে সঙ্গে চলতে পারে; তার পরে ফিরিয়ে দেয়</translation>
  </message>
  <message>
   <source>with no router in sight</source>
   <translation>কোনো রাউটার দেখা যায় না</translation>
  </message>
  <message>
   <source>with other hours</source>
   <translation>অন্য সময় বাছলে</translation>
  </message>
  <message>
   <source>word frequencies</source>
   <translation>শব্দের গণসংখ্যা</translation>
  </message>
  <message>
   <source>{address} cannot be a mirror.</source>
   <translation>{address} মিরর হতে পারে না।</translation>
  </message>
  <message>
   <source>{address} cannot be asked for a list.</source>
   <translation>{address}-এ তালিকা চাওয়া যায় না।</translation>
  </message>
  <message>
   <source>{address} cannot be used: {error}.</source>
   <translation>{address} ব্যবহার করা যায় না: {error}।</translation>
  </message>
  <message>
   <source>{address} is not a folder that you have named.</source>
   <translation>{address} আপনার নাম দেওয়া ফোল্ডার নয়।</translation>
  </message>
  <message>
   <source>{address} is not a mirror.</source>
   <translation>{address} মিরর নয়।</translation>
  </message>
  <message>
   <source>{address} is not the whole path of a folder.</source>
   <translation>{address} ফোল্ডারের পুরো পথ নয়।</translation>
  </message>
  <message>
   <source>{address} is not what it was when it was cut.</source>
   <translation>{address} কাটার সময় যা ছিল তা আর নেই।</translation>
  </message>
  <message>
   <source>{address} names no files, or more than {most}.</source>
   <translation>{address} কোনো ফাইলের নাম দেয় না, বা {most}টির বেশি দেয়।</translation>
  </message>
  <message>
   <source>{address}/{name} cannot be {what}: {error}.</source>
   <translation>{address}/{name} ({what}) করা যায় না: {error}।</translation>
  </message>
  <message>
   <source>{all} samples a second together, {mine} of them on this computer</source>
   <translation>সব মিলে সেকেন্ডে {all}টি নমুনা, তার {mine}টি এই কম্পিউটারে</translation>
  </message>
  <message>
   <source>{author} proposes: {changes}.</source>
   <translation>{author}-এর প্রস্তাব: {changes}।</translation>
  </message>
  <message>
   <source>{bad} of {count} receipts do not match their signatures.</source>
   <translation>{count}টি রসিদের {bad}টি নিজের সইয়ের সঙ্গে মেলে না।</translation>
  </message>
  <message>
   <source>{busy} This time port {port} is used for other peers.</source>
   <translation>{busy} এবার অন্যদের জন্য {port} পোর্ট ব্যবহার হচ্ছে।</translation>
  </message>
  <message>
   <source>{by_ipv4} Volunteers with IPv6 reach it directly.</source>
   <translation>{by_ipv4} IPv6 থাকা স্বেচ্ছাসেবকরা সরাসরি পৌঁছান।</translation>
  </message>
  <message>
   <source>{called} cannot be read: {error}.</source>
   <translation>{called} পড়া যায় না: {error}।</translation>
  </message>
  <message>
   <source>{called} cannot be used: {error}.</source>
   <translation>{called} ব্যবহার করা যায় না: {error}।</translation>
  </message>
  <message>
   <source>{called} has {count} bytes; a recipe has at most {most}.</source>
   <translation>{called} {count} বাইট; রেসিপি বড়জোর {most} হতে পারে।</translation>
  </message>
  <message>
   <source>{called} has {count} bytes; {most} are the most.</source>
   <translation>{called} {count} বাইট; {most} পর্যন্ত চলে।</translation>
  </message>
  <message>
   <source>{called} is not a TOML file: {error}.</source>
   <translation>{called} TOML ফাইল নয়: {error}।</translation>
  </message>
  <message>
   <source>{called} is of another model: {why}.</source>
   <translation>{called} অন্য মডেলের: {why}।</translation>
  </message>
  <message>
   <source>{called} {refusal}: training computes in fp32, which takes part like any other.</source>
   <translation>{called} {refusal}: প্রশিক্ষণ fp32-তে হিসাব করে, যা অন্যগুলোর মতোই অংশ নেয়।</translation>
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
   <translation>{called}: data সারণি হতে হবে।</translation>
  </message>
  <message>
   <source>{called}: task must be one of {tasks}, not {task}.</source>
   <translation>{called}: task {tasks}-এর একটি হতে হবে, {task} নয়।</translation>
  </message>
  <message>
   <source>{called}: text and [[data]] name the text twice.</source>
   <translation>{called}: text ও [[data]] দুবার লেখার নাম দেয়।</translation>
  </message>
  <message>
   <source>{called}: there are {count} tables [[data]]; 1 to {most} are allowed.</source>
   <translation>{called}: {count}টি [[data]] সারণি আছে; 1 থেকে {most}টি চলে।</translation>
  </message>
  <message>
   <source>{called}: {tables} is not a table.</source>
   <translation>{called}: {tables} সারণি নয়।</translation>
  </message>
  <message>
   <source>{called}: {title} {number_name} must be a finite number, not {number}.</source>
   <translation>{called}: {title} {number_name} সসীম সংখ্যা হতে হবে, {number} নয়।</translation>
  </message>
  <message>
   <source>{card} tells of itself.</source>
   <translation>{card} নিজের কথা বলে।</translation>
  </message>
  <message>
   <source>{collaboration} goes on by itself when it does.</source>
   <translation>চললে {collaboration} নিজে থেকেই এগোয়।</translation>
  </message>
  <message>
   <source>{computer} does not answer.</source>
   <translation>{computer} উত্তর দেয় না।</translation>
  </message>
  <message>
   <source>{computer} gives no valid engine.json.</source>
   <translation>{computer} ঠিক engine.json দেয় না।</translation>
  </message>
  <message>
   <source>{computer} is not the name of a computer.</source>
   <translation>{computer} কোনো কম্পিউটারের নাম নয়।</translation>
  </message>
  <message>
   <source>{count} computers are shut out.</source>
   <translation>{count}টি কম্পিউটার বাদ দেওয়া হয়েছে।</translation>
  </message>
  <message>
   <source>{count} entries cannot be used, and were left out.</source>
   <translation>{count}টি ভুক্তি ব্যবহার করা যায় না, তাই বাদ।</translation>
  </message>
  <message>
   <source>{count} of your computers are called {words}.</source>
   <translation>আপনার {count}টি কম্পিউটারের নাম {words}।</translation>
  </message>
  <message>
   <source>{count} of {places} experts are missing (layer: place): {named}{more}.</source>
   <translation>{places}টি এক্সপার্টের {count}টি নেই (স্তর: জায়গা): {named}{more}।</translation>
  </message>
  <message>
   <source>{days} days in a row</source>
   <translation>টানা {days} দিন</translation>
  </message>
  <message>
   <source>{day} {month} {clock}</source>
   <translation>{day} {month} {clock}</translation>
  </message>
  <message>
   <source>{day}, {start} to {end}: {state}</source>
   <translation>{day}, {start} থেকে {end}: {state}</translation>
  </message>
  <message>
   <source>{duration} on {active} of {days} days</source>
   <translation>{days} দিনের {active} দিনে {duration}</translation>
  </message>
  <message>
   <source>{epochs} of the model's steps have your work in them: {samples} samples, in {duration} of contributing.</source>
   <translation>মডেলের {epochs}টি ধাপে আপনার কাজ আছে: {samples}টি নমুনা, {duration} অবদানে।</translation>
  </message>
  <message>
   <source>{error}.</source>
   <translation>{error}।</translation>
  </message>
  <message>
   <source>{file} cannot be read.</source>
   <translation>{file} পড়া যায় না।</translation>
  </message>
  <message>
   <source>{file} cannot be read: {why}.</source>
   <translation>{file} পড়া যায় না: {why}।</translation>
  </message>
  <message>
   <source>{file} has a file that leads out of the folder.</source>
   <translation>{file}-এ এমন ফাইল আছে যা ফোল্ডারের বাইরে যায়।</translation>
  </message>
  <message>
   <source>{file} is a backup of another collaboration.</source>
   <translation>{file} অন্য প্রকল্পের ব্যাকআপ।</translation>
  </message>
  <message>
   <source>{file} is not a backup of a collaboration.</source>
   <translation>{file} কোনো প্রকল্পের ব্যাকআপ নয়।</translation>
  </message>
  <message>
   <source>{file} is not text in UTF-8, or has more than {most} bytes.</source>
   <translation>{file} UTF-8 লেখা নয়, বা {most} বাইটের বেশি।</translation>
  </message>
  <message>
   <source>{file} is not the file that this version of Potluck names, so it was not installed.</source>
   <translation>{file} Potluck-এর এই সংস্করণের বলা ফাইল নয়, তাই ইনস্টল হয়নি।</translation>
  </message>
  <message>
   <source>{file} is there already; nothing in it was changed.</source>
   <translation>{file} আগেই আছে; এতে কিছু বদলানো হয়নি।</translation>
  </message>
  <message>
   <source>{file}, {place}: {why}.</source>
   <translation>{file}, {place}: {why}।</translation>
  </message>
  <message>
   <source>{file}: there is no file {list} beside it.</source>
   <translation>{file}: পাশে {list} ফাইল নেই।</translation>
  </message>
  <message>
   <source>{folder} holds shards that were cut earlier, and other files, such as {other}.</source>
   <translation>{folder}-এ আগে কাটা খণ্ড, আর অন্য ফাইলও আছে, যেমন {other}।</translation>
  </message>
  <message>
   <source>{folder} is not a folder.</source>
   <translation>{folder} ফোল্ডার নয়।</translation>
  </message>
  <message>
   <source>{folder} is there already; nothing in it was changed.</source>
   <translation>{folder} আগেই আছে; এতে কিছু বদলানো হয়নি।</translation>
  </message>
  <message>
   <source>{free} GB are free where Potluck keeps its things ({folder}).</source>
   <translation>Potluck যেখানে নিজের জিনিস রাখে ({folder}) সেখানে {free} GB খালি।</translation>
  </message>
  <message>
   <source>{headline}. {sentence}</source>
   <translation>{headline}। {sentence}</translation>
  </message>
  <message>
   <source>{hosts}, about {size} a day</source>
   <translation>{hosts}, দিনে প্রায় {size}</translation>
  </message>
  <message>
   <source>{host} does not answer.</source>
   <translation>{host} উত্তর দেয় না।</translation>
  </message>
  <message>
   <source>{host} has no list there ({status}).</source>
   <translation>{host}-এ সেখানে তালিকা নেই ({status})।</translation>
  </message>
  <message>
   <source>{host}, where the text is, answers with something else than was asked for. It is asked again in {seconds} s.</source>
   <translation>লেখা যেখানে আছে সেই {host} যা চাওয়া হয়েছিল তার বদলে অন্য উত্তর দেয়। {seconds} s পরে আবার চাওয়া হবে।</translation>
  </message>
  <message>
   <source>{host}, where the text is, does not answer. It is asked again in {seconds} s.</source>
   <translation>লেখা যেখানে আছে সেই {host} উত্তর দেয় না। {seconds} s পরে আবার চাওয়া হবে।</translation>
  </message>
  <message>
   <source>{host}, where the text is, does not answer; {rows} samples are ready.</source>
   <translation>লেখা যেখানে আছে সেই {host} উত্তর দেয় না; {rows}টি নমুনা প্রস্তুত।</translation>
  </message>
  <message>
   <source>{index_copy} is the index of other shards than those in {address}.</source>
   <translation>{index_copy} {address}-এর খণ্ডগুলোর নয়, অন্য খণ্ডের সূচি।</translation>
  </message>
  <message>
   <source>{kilos} kg of carbon dioxide</source>
   <translation>{kilos} kg কার্বন ডাই-অক্সাইড</translation>
  </message>
  <message>
   <source>{left} cannot be reached; Potluck goes on with {served}.</source>
   <translation>{left}-এ পৌঁছানো যায় না; Potluck {served} নিয়ে চলছে।</translation>
  </message>
  <message>
   <source>{left} does not let this computer take part: {reason} Potluck goes on with {served}.</source>
   <translation>{left} এই কম্পিউটারকে অংশ নিতে দেয় না: {reason} Potluck {served} নিয়ে চলছে।</translation>
  </message>
  <message>
   <source>{left} has come to its end; Potluck goes on with {served}.</source>
   <translation>{left} শেষ হয়েছে; Potluck {served} নিয়ে চলছে।</translation>
  </message>
  <message>
   <source>{mains} The battery is charged to {share}.</source>
   <translation>{mains} ব্যাটারিতে {share} চার্জ আছে।</translation>
  </message>
  <message>
   <source>{message} {hint}</source>
   <translation>{message} {hint}</translation>
  </message>
  <message>
   <source>{mine} samples from this computer wait until others are there again.</source>
   <translation>এই কম্পিউটারের {mine}টি নমুনা অন্যরা আবার না আসা পর্যন্ত অপেক্ষায়।</translation>
  </message>
  <message>
   <source>{missing} of its {places} experts live nowhere now, and are not in it.</source>
   <translation>এর {places}টি এক্সপার্টের {missing}টি এখন কোথাও নেই, তাই এতে নেই।</translation>
  </message>
  <message>
   <source>{money} in your money</source>
   <translation>আপনার মুদ্রায় {money}</translation>
  </message>
  <message>
   <source>{names} decides alone who is shut out, and whether everybody goes back to an earlier model.</source>
   <translation>কে বাদ যাবেন, আর সবাই আগের মডেলে ফিরবেন কি না, {names} একাই ঠিক করেন।</translation>
  </message>
  <message>
   <source>{names}: each of them decides alone.</source>
   <translation>{names}: প্রত্যেকে একাই ঠিক করেন।</translation>
  </message>
  <message>
   <source>{names}: {count} of them have to agree.</source>
   <translation>{names}: তাঁদের {count} জনকে রাজি হতে হয়।</translation>
  </message>
  <message>
   <source>{name} (shut out)</source>
   <translation>{name} (বাদ)</translation>
  </message>
  <message>
   <source>{name} (you)</source>
   <translation>{name} (আপনি)</translation>
  </message>
  <message>
   <source>{name} alone</source>
   <translation>শুধু {name}</translation>
  </message>
  <message>
   <source>{name} alone: {loss}</source>
   <translation>শুধু {name}: {loss}</translation>
  </message>
  <message>
   <source>{name} asked on {day} whether all moderators can still sign. Not yet signed: {names}.</source>
   <translation>{name} {day} তারিখে জানতে চেয়েছেন সব মডারেটর এখনও সই করতে পারেন কি না। এখনও সই করেননি: {names}।</translation>
  </message>
  <message>
   <source>{name} asked on {day} whether all moderators can still sign. {names} have not for 7 days: if they are gone, put others in their place.</source>
   <translation>{name} {day} তারিখে জানতে চেয়েছেন সব মডারেটর এখনও সই করতে পারেন কি না। {names} 7 দিন ধরে করেননি: তাঁরা না থাকলে তাঁদের জায়গায় অন্যদের রাখুন।</translation>
  </message>
  <message>
   <source>{name} asked on {day} whether all moderators can still sign: all have.</source>
   <translation>{name} {day} তারিখে জানতে চেয়েছেন সব মডারেটর এখনও সই করতে পারেন কি না: সবাই করেছেন।</translation>
  </message>
  <message>
   <source>{name} cannot be read: {why}.</source>
   <translation>{name} পড়া যায় না: {why}।</translation>
  </message>
  <message>
   <source>{name} changed while it was read.</source>
   <translation>পড়ার সময় {name} বদলে গেছে।</translation>
  </message>
  <message>
   <source>{name} does not answer.</source>
   <translation>{name} উত্তর দেয় না।</translation>
  </message>
  <message>
   <source>{name} has come to its end.</source>
   <translation>{name} শেষ হয়েছে।</translation>
  </message>
  <message>
   <source>{name} has come to its end; there is nothing left to compute.</source>
   <translation>{name} শেষ হয়েছে; হিসাব করার কিছু বাকি নেই।</translation>
  </message>
  <message>
   <source>{name} has {why}.</source>
   <translation>{name}: {why}।</translation>
  </message>
  <message>
   <source>{name} holds no text files that can be read.</source>
   <translation>{name}-এ পড়া যায় এমন লেখার ফাইল নেই।</translation>
  </message>
  <message>
   <source>{name} is founded. Send this link to those who may join.</source>
   <translation>{name} শুরু হয়েছে। যাঁরা যোগ দিতে পারেন তাঁদের এই লিংক পাঠান।</translation>
  </message>
  <message>
   <source>{name} is held until {until}.</source>
   <translation>{name} {until} পর্যন্ত স্থগিত।</translation>
  </message>
  <message>
   <source>{name} is held until {until}: {words}</source>
   <translation>{name} {until} পর্যন্ত স্থগিত: {words}</translation>
  </message>
  <message>
   <source>{name} is larger than it may be.</source>
   <translation>{name} যত বড় হতে পারে তার চেয়ে বড়।</translation>
  </message>
  <message>
   <source>{name} is not a valid folder of programs.</source>
   <translation>{name} প্রোগ্রামের ঠিক ফোল্ডার নয়।</translation>
  </message>
  <message>
   <source>{name} is not a valid name of a program.</source>
   <translation>{name} প্রোগ্রামের ঠিক নাম নয়।</translation>
  </message>
  <message>
   <source>{name} is not among what the people who make Potluck have signed.</source>
   <translation>Potluck-এর নির্মাতারা যা সই করেছেন {name} তার মধ্যে নেই।</translation>
  </message>
  <message>
   <source>{name} is not there, or has no files.</source>
   <translation>{name} সেখানে নেই, বা এতে ফাইল নেই।</translation>
  </message>
  <message>
   <source>{name} is not what the server gives: that is a page for people, or another part of it.</source>
   <translation>সার্ভার যা দেয় {name} তা নয়: সেটি মানুষের জন্য পাতা, বা এর অন্য অংশ।</translation>
  </message>
  <message>
   <source>{name} is too large for a recipe.</source>
   <translation>{name} রেসিপির পক্ষে খুব বড়।</translation>
  </message>
  <message>
   <source>{name} is {samples} behind.</source>
   <translation>{name} {samples}টি পিছনে।</translation>
  </message>
  <message>
   <source>{name} leads into a private network.</source>
   <translation>{name} একটি ব্যক্তিগত নেটওয়ার্কে নিয়ে যায়।</translation>
  </message>
  <message>
   <source>{name} lets nobody new in.</source>
   <translation>{name} নতুন কাউকে নেয় না।</translation>
  </message>
  <message>
   <source>{name} may not be read.</source>
   <translation>{name} পড়ার অনুমতি নেই।</translation>
  </message>
  <message>
   <source>{name} unfolds to more memory than any text needs.</source>
   <translation>{name} খুললে এত মেমরি লাগে যা কোনো লেখার দরকার হয় না।</translation>
  </message>
  <message>
   <source>{name} {day} {month}</source>
   <translation>{name} {day} {month}</translation>
  </message>
  <message>
   <source>{name} {reason}.</source>
   <translation>{name} {reason}।</translation>
  </message>
  <message>
   <source>{name}, key {key}, {computers} computers, {share} of all samples</source>
   <translation>{name}, চাবি {key}, {computers}টি কম্পিউটার, সব নমুনার {share}</translation>
  </message>
  <message>
   <source>{name}, organised by {organiser}</source>
   <translation>{name}, আয়োজক {organiser}</translation>
  </message>
  <message>
   <source>{name}, peer {peer}, part of {epochs} steps</source>
   <translation>{name}, পিয়ার {peer}, {epochs}টি ধাপে অংশ নিয়েছে</translation>
  </message>
  <message>
   <source>{name}, signed {moment} by the key {fingerprint}. Compare that with the one that its maker shows you.</source>
   <translation>{name}, {moment}-এ সই করা, চাবি {fingerprint}। যিনি বানিয়েছেন তিনি যেটি দেখান তার সঙ্গে মেলান।</translation>
  </message>
  <message>
   <source>{name}, {role}, peer {peer}, at step {epoch}, {samples} samples in this one</source>
   <translation>{name}, {role}, পিয়ার {peer}, ধাপ {epoch}, এতে {samples}টি নমুনা</translation>
  </message>
  <message>
   <source>{needed} MB are needed in {folder}, and {free} MB are free.</source>
   <translation>{folder}-এ {needed} MB লাগে, আর {free} MB খালি আছে।</translation>
  </message>
  <message>
   <source>{network} It is not metered.</source>
   <translation>{network} এতে ডেটা গুনে খরচ হয় না।</translation>
  </message>
  <message>
   <source>{network} The system says that this connection is metered.</source>
   <translation>{network} সিস্টেম বলে এই সংযোগে ডেটা গুনে খরচ হয়।</translation>
  </message>
  <message>
   <source>{note} There are: {there}.</source>
   <translation>{note} আছে: {there}।</translation>
  </message>
  <message>
   <source>{number} M</source>
   <translation>{number} M</translation>
  </message>
  <message>
   <source>{number} always on</source>
   <translation>{number}টি সবসময় চালু</translation>
  </message>
  <message>
   <source>{number} computers now</source>
   <translation>এখন {number}টি কম্পিউটার</translation>
  </message>
  <message>
   <source>{number} days</source>
   <translation>{number} দিনে</translation>
  </message>
  <message>
   <source>{number} of 100</source>
   <translation>100-এর মধ্যে {number}টি</translation>
  </message>
  <message>
   <source>{number} of {all} checks found something that has to be mended.</source>
   <translation>{all}টি পরীক্ষার {number}টিতে এমন কিছু আছে যা ঠিক করতে হবে।</translation>
  </message>
  <message>
   <source>{number} volunteers here</source>
   <translation>এখানে {number} জন স্বেচ্ছাসেবক</translation>
  </message>
  <message>
   <source>{obstacle}.</source>
   <translation>{obstacle}।</translation>
  </message>
  <message>
   <source>{organiser}'s computer</source>
   <translation>{organiser}-এর কম্পিউটার</translation>
  </message>
  <message>
   <source>{organiser}'s computer ({where})</source>
   <translation>{organiser}-এর কম্পিউটার ({where})</translation>
  </message>
  <message>
   <source>{out} holds the shards of another source, or of this one as it was, or cut otherwise.</source>
   <translation>{out}-এ অন্য উৎসের, বা এটিরই আগের, বা অন্যভাবে কাটা খণ্ড আছে।</translation>
  </message>
  <message>
   <source>{path} cannot be read: {error}.</source>
   <translation>{path} পড়া যায় না: {error}।</translation>
  </message>
  <message>
   <source>{path} could not be read: {error}.</source>
   <translation>{path} পড়া যায়নি: {error}।</translation>
  </message>
  <message>
   <source>{path} could not be written: {error}.</source>
   <translation>{path} লেখা যায়নি: {error}।</translation>
  </message>
  <message>
   <source>{path} does not match the index beside it.</source>
   <translation>{path} পাশের সূচির সঙ্গে মেলে না।</translation>
  </message>
  <message>
   <source>{path} is full.</source>
   <translation>{path} ভরে গেছে।</translation>
  </message>
  <message>
   <source>{path} is not the shard of the index.</source>
   <translation>{path} সূচির খণ্ডটি নয়।</translation>
  </message>
  <message>
   <source>{path} is too long to be read.</source>
   <translation>{path} পড়ার পক্ষে খুব লম্বা।</translation>
  </message>
  <message>
   <source>{path}: {problem}</source>
   <translation>{path}: {problem}</translation>
  </message>
  <message>
   <source>{place} does not give the file (answer {status}).</source>
   <translation>{place} ফাইলটি দেয় না (উত্তর {status})।</translation>
  </message>
  <message>
   <source>{problems}: training uses {uses}.</source>
   <translation>{problems}: প্রশিক্ষণে ব্যবহার হয় {uses}।</translation>
  </message>
  <message>
   <source>{problem} It is process {pid}.</source>
   <translation>{problem} এটি {pid} প্রক্রিয়া।</translation>
  </message>
  <message>
   <source>{program} does not start: {why}.</source>
   <translation>{program} চালু হচ্ছে না: {why}।</translation>
  </message>
  <message>
   <source>{refusal} The page says: {words}</source>
   <translation>{refusal} পাতাটি বলে: {words}</translation>
  </message>
  <message>
   <source>{refusal} This ends at {moment}.</source>
   <translation>{refusal} এটি {moment} শেষ হয়।</translation>
  </message>
  <message>
   <source>{repository} is not the name of a model on the hub.</source>
   <translation>{repository} হাবের কোনো মডেলের নাম নয়।</translation>
  </message>
  <message>
   <source>{right} {guesses} right at step {epoch}</source>
   <translation>{epoch} ধাপে {right} {guesses} ঠিক</translation>
  </message>
  <message>
   <source>{rows} samples lie ready</source>
   <translation>{rows}টি নমুনা প্রস্তুত</translation>
  </message>
  <message>
   <source>{said}, not: {meant}</source>
   <translation>{said}, এটি নয়: {meant}</translation>
  </message>
  <message>
   <source>{said}. That is too little.</source>
   <translation>{said}। তা খুব কম।</translation>
  </message>
  <message>
   <source>{samples} more are computed and wait for the next round.</source>
   <translation>আরও {samples}টির হিসাব হয়েছে, পরের রাউন্ডের অপেক্ষায়।</translation>
  </message>
  <message>
   <source>{samples} of {target} samples for the model's next step, {mine} from this computer</source>
   <translation>মডেলের পরের ধাপের {target}টি নমুনার {samples}টি, {mine}টি এই কম্পিউটারের</translation>
  </message>
  <message>
   <source>{samples} samples more to reach {name}.</source>
   <translation>{name}-এর সমান হতে আরও {samples}টি নমুনা।</translation>
  </message>
  <message>
   <source>{samples} samples went into steps of the model.</source>
   <translation>{samples}টি নমুনা মডেলের ধাপে গেছে।</translation>
  </message>
  <message>
   <source>{samples}.</source>
   <translation>{samples}।</translation>
  </message>
  <message>
   <source>{samples}; last took part {moment}.</source>
   <translation>{samples}; শেষ অংশ নিয়েছে {moment}।</translation>
  </message>
  <message>
   <source>{sample} is not the number of a sample.</source>
   <translation>{sample} কোনো নমুনার নম্বর নয়।</translation>
  </message>
  <message>
   <source>{sent} sent, {received} received.</source>
   <translation>{sent} পাঠানো, {received} পাওয়া।</translation>
  </message>
  <message>
   <source>{served} can be reached again; Potluck goes back to it from {left}.</source>
   <translation>{served}-এ আবার পৌঁছানো যায়; Potluck {left} থেকে সেখানে ফিরছে।</translation>
  </message>
  <message>
   <source>{share} from {source}</source>
   <translation>{source} থেকে {share}</translation>
  </message>
  <message>
   <source>{share} of the numbers, {rounds} rounds</source>
   <translation>সংখ্যাগুলোর {share}, {rounds} রাউন্ড</translation>
  </message>
  <message>
   <source>{share} of this collaboration</source>
   <translation>এই প্রকল্পের {share}</translation>
  </message>
  <message>
   <source>{size} a day</source>
   <translation>দিনে {size}</translation>
  </message>
  <message>
   <source>{size} a second</source>
   <translation>সেকেন্ডে {size}</translation>
  </message>
  <message>
   <source>{size} are free</source>
   <translation>{size} খালি</translation>
  </message>
  <message>
   <source>{size} become free, and this computer trains no more. What you gave is kept.</source>
   <translation>{size} খালি হয়, আর এই কম্পিউটার আর প্রশিক্ষণ দেয় না। আপনি যা দিয়েছেন তা থাকে।</translation>
  </message>
  <message>
   <source>{size} here for training</source>
   <translation>প্রশিক্ষণের জন্য এখানে {size}</translation>
  </message>
  <message>
   <source>{size} in this computer</source>
   <translation>এই কম্পিউটারে {size}</translation>
  </message>
  <message>
   <source>{size} kept for others, {given} given to them</source>
   <translation>অন্যদের জন্য {size} রাখা, {given} দেওয়া হয়েছে</translation>
  </message>
  <message>
   <source>{size} of files, then the model from other volunteers; numbers only, no programs</source>
   <translation>{size} ফাইল, তারপর অন্য স্বেচ্ছাসেবকদের থেকে মডেল; শুধু সংখ্যা, প্রোগ্রাম নয়</translation>
  </message>
  <message>
   <source>{some} and {last}</source>
   <translation>{some} ও {last}</translation>
  </message>
  <message>
   <source>{stage} ({percent} %)</source>
   <translation>{stage} ({percent} %)</translation>
  </message>
  <message>
   <source>{stalled} Training goes on with what is here.</source>
   <translation>{stalled} যা আছে তা দিয়ে প্রশিক্ষণ চলছে।</translation>
  </message>
  <message>
   <source>{step}; at this pace it is done at {moment}</source>
   <translation>{step}; এই গতিতে {moment} শেষ হবে</translation>
  </message>
  <message>
   <source>{step}; at this pace it is done on {day}</source>
   <translation>{step}; এই গতিতে {day} শেষ হবে</translation>
  </message>
  <message>
   <source>{text} could mean bits or bytes.</source>
   <translation>{text} মানে বিট বা বাইট দুটিই হতে পারে।</translation>
  </message>
  <message>
   <source>{text} could mean two amounts, a thousand times apart.</source>
   <translation>{text} মানে হাজার গুণ তফাতের দুটি পরিমাণ হতে পারে।</translation>
  </message>
  <message>
   <source>{text} has no unit of an amount.</source>
   <translation>{text}-এ পরিমাণের একক নেই।</translation>
  </message>
  <message>
   <source>{text} has no unit of speed.</source>
   <translation>{text}-এ গতির একক নেই।</translation>
  </message>
  <message>
   <source>{text} is neither yes nor no.</source>
   <translation>{text} হ্যাঁ বা না কোনোটিই নয়।</translation>
  </message>
  <message>
   <source>{text} is not a valid amount.</source>
   <translation>{text} ঠিক পরিমাণ নয়।</translation>
  </message>
  <message>
   <source>{text} is not a whole number from 0 on.</source>
   <translation>{text} 0 বা তার বেশি পূর্ণ সংখ্যা নয়।</translation>
  </message>
  <message>
   <source>{text} is not a whole number of gigabytes.</source>
   <translation>{text} গিগাবাইটের পূর্ণ সংখ্যা নয়।</translation>
  </message>
  <message>
   <source>{text} is not an address that others could call.</source>
   <translation>{text} অন্যরা ডাকতে পারে এমন ঠিকানা নয়।</translation>
  </message>
  <message>
   <source>{threads} of {cores} processor threads, at low priority{cards}</source>
   <translation>প্রসেসরের {cores}টি থ্রেডের {threads}টি, কম অগ্রাধিকারে{cards}</translation>
  </message>
  <message>
   <source>{time} is not a valid length of time.</source>
   <translation>{time} ঠিক সময়কাল নয়।</translation>
  </message>
  <message>
   <source>{title} ({device}) {refusal}</source>
   <translation>{title} ({device}) {refusal}</translation>
  </message>
  <message>
   <source>{title}: {first} at step {first_epoch}, {last} at step {last_epoch}.</source>
   <translation>{title}: ধাপ {first_epoch}-এ {first}, ধাপ {last_epoch}-এ {last}।</translation>
  </message>
  <message>
   <source>{until} is not a valid time of day.</source>
   <translation>{until} দিনের ঠিক সময় নয়।</translation>
  </message>
  <message>
   <source>{used} of {all}</source>
   <translation>{all}-এর {used}</translation>
  </message>
  <message>
   <source>{used} used by Potluck; {free} free</source>
   <translation>Potluck-এর {used}; {free} খালি</translation>
  </message>
  <message>
   <source>{used} used by Potluck; {free} of {all} free</source>
   <translation>Potluck-এর {used}; {all}-এর {free} খালি</translation>
  </message>
  <message>
   <source>{used} used so far</source>
   <translation>এ পর্যন্ত {used}</translation>
  </message>
  <message>
   <source>{watts} W while it computes</source>
   <translation>হিসাবের সময় {watts} W</translation>
  </message>
  <message>
   <source>{what} cannot be switched.</source>
   <translation>{what} চালু-বন্ধ করা যায় না।</translation>
  </message>
  <message>
   <source>{what} is not UTF-8: {shown}.</source>
   <translation>{what} UTF-8 নয়: {shown}।</translation>
  </message>
  <message>
   <source>{what}, {share} %</source>
   <translation>{what}, {share} %</translation>
  </message>
  <message>
   <source>{where}a model with experts cannot be trained with {name}.</source>
   <translation>{where}এক্সপার্টসহ মডেল {name} দিয়ে প্রশিক্ষণ দেওয়া যায় না।</translation>
  </message>
  <message>
   <source>{where}address is missing.</source>
   <translation>{where}address নেই।</translation>
  </message>
  <message>
   <source>{where}aspect_columns must name two columns, such as width,height.</source>
   <translation>{where}aspect_columns-এ দুটি কলামের নাম দিন, যেমন width,height।</translation>
  </message>
  <message>
   <source>{where}language must be one of {scripts}, not {language}.</source>
   <translation>{where}language {scripts}-এর একটি হতে হবে, {language} নয়।</translation>
  </message>
  <message>
   <source>{where}name must be one of {kinds}, not {name}.</source>
   <translation>{where}name {kinds}-এর একটি হতে হবে, {name} নয়।</translation>
  </message>
  <message>
   <source>{where}the task {task} has no layers of experts.</source>
   <translation>{where}{task} কাজে এক্সপার্টের স্তর নেই।</translation>
  </message>
  <message>
   <source>{where}the task {task} needs a table [experts].</source>
   <translation>{where}{task} কাজের একটি [experts] সারণি লাগে।</translation>
  </message>
  <message>
   <source>{where}{error}</source>
   <translation>{where}{error}</translation>
  </message>
  <message>
   <source>{where}{name} is missing.</source>
   <translation>{where}{name} নেই।</translation>
  </message>
  <message>
   <source>{where}{name} is unknown.</source>
   <translation>{where}{name} অজানা।</translation>
  </message>
  <message>
   <source>{where}{name} must be a number, not {value}.</source>
   <translation>{where}{name} সংখ্যা হতে হবে, {value} নয়।</translation>
  </message>
  <message>
   <source>{where}{name} must be a whole number from 0 to {most}, not {number}.</source>
   <translation>{where}{name} 0 থেকে {most}-এর পূর্ণ সংখ্যা হতে হবে, {number} নয়।</translation>
  </message>
  <message>
   <source>{where}{name} must be {allowed}, not {value}.</source>
   <translation>{where}{name} {allowed} হতে হবে, {value} নয়।</translation>
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
   <translation>{whose} উত্তর দেয় না, আর এই কম্পিউটারের পাস শেষ: এটি একা প্রশিক্ষণ দিচ্ছে, এর কাজ হয়তো রাখা হবে না।</translation>
  </message>
  <message>
   <source>{whose} does not answer, nor does any other: this computer trains alone, and its work may not be kept.</source>
   <translation>{whose} উত্তর দেয় না, অন্য কেউও না: এই কম্পিউটার একা প্রশিক্ষণ দিচ্ছে, এর কাজ হয়তো রাখা হবে না।</translation>
  </message>
  <message>
   <source>{whose} does not answer.</source>
   <translation>{whose} উত্তর দেয় না।</translation>
  </message>
  <message>
   <source>{whose} does not answer: this computer has no network.</source>
   <translation>{whose} উত্তর দেয় না: এই কম্পিউটারে নেটওয়ার্ক নেই।</translation>
  </message>
  <message>
   <source>{whose} is not ready yet: {why}</source>
   <translation>{whose} এখনও প্রস্তুত নয়: {why}</translation>
  </message>
  <message>
   <source>{who} has {count} computers.</source>
   <translation>{who}-এর {count}টি কম্পিউটার আছে।</translation>
  </message>
  <message>
   <source>{who} is not a moderator.</source>
   <translation>{who} মডারেটর নন।</translation>
  </message>
  <message>
   <source>{why} It is asked again.</source>
   <translation>{why} আবার চাওয়া হচ্ছে।</translation>
  </message>
  <message>
   <source>{why} The file was kept as {name}.</source>
   <translation>{why} ফাইলটি {name} নামে রাখা হয়েছে।</translation>
  </message>
  <message>
   <source>{with} UPnP or NAT-PMP in the router, or with TCP and UDP of port {port} forwarded to this computer.</source>
   <translation>{with} রাউটারে UPnP বা NAT-PMP থাকলে, বা {port} পোর্টের TCP ও UDP এই কম্পিউটারে এগিয়ে দিলে।</translation>
  </message>
  <message>
   <source>{words} is not a date.</source>
   <translation>{words} তারিখ নয়।</translation>
  </message>
  <message>
   <source>{words} is not a key.</source>
   <translation>{words} চাবি নয়।</translation>
  </message>
  <message>
   <source>{words} is not a link of another collaboration.</source>
   <translation>{words} অন্য প্রকল্পের লিংক নয়।</translation>
  </message>
  <message>
   <source>{words} is not for another computer.</source>
   <translation>{words} অন্য কম্পিউটারের জন্য নয়।</translation>
  </message>
  <message>
   <source>{words} is not the address of a backbone.</source>
   <translation>{words} ব্যাকবোনের ঠিকানা নয়।</translation>
  </message>
  <message>
   <source>{words} is not the number of a copy.</source>
   <translation>{words} কপির নম্বর নয়।</translation>
  </message>
  <message>
   <source>{words}.</source>
   <translation>{words}।</translation>
  </message>
  <message>
   <source>{word} comes after the times.</source>
   <translation>{word} সময়ের পরে আসে।</translation>
  </message>
  <message>
   <source>{word} does not say from when to when.</source>
   <translation>{word} কখন থেকে কখন তা বলে না।</translation>
  </message>
  <message>
   <source>{word} is neither a day nor times of a day.</source>
   <translation>{word} দিনও নয়, দিনের সময়ও নয়।</translation>
  </message>
 </context>
</TS>
