<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="bn" sourcelanguage="en">
 <context>
  <name>QPlatformTheme</name>
  <message>
   <source>OK</source>
   <translation>ঠিক আছে</translation>
  </message>
  <message>
   <source>Save</source>
   <translation>সংরক্ষণ</translation>
  </message>
  <message>
   <source>Save All</source>
   <translation>সব সংরক্ষণ</translation>
  </message>
  <message>
   <source>Open</source>
   <translation>খুলুন</translation>
  </message>
  <message>
   <source>&amp;Yes</source>
   <translation>হ্যাঁ (&amp;Y)</translation>
  </message>
  <message>
   <source>Yes to &amp;All</source>
   <translation>সবগুলোতে হ্যাঁ (&amp;A)</translation>
  </message>
  <message>
   <source>&amp;No</source>
   <translation>না (&amp;N)</translation>
  </message>
  <message>
   <source>N&amp;o to All</source>
   <translation>সবগুলোতে না (&amp;O)</translation>
  </message>
  <message>
   <source>Abort</source>
   <translation>থামান</translation>
  </message>
  <message>
   <source>Retry</source>
   <translation>আবার চেষ্টা করুন</translation>
  </message>
  <message>
   <source>Ignore</source>
   <translation>উপেক্ষা করুন</translation>
  </message>
  <message>
   <source>Close</source>
   <translation>বন্ধ করুন</translation>
  </message>
  <message>
   <source>Cancel</source>
   <translation>বাতিল</translation>
  </message>
  <message>
   <source>Discard</source>
   <translation>ফেলে দিন</translation>
  </message>
  <message>
   <source>Help</source>
   <translation>সহায়তা</translation>
  </message>
  <message>
   <source>Apply</source>
   <translation>প্রয়োগ করুন</translation>
  </message>
  <message>
   <source>Reset</source>
   <translation>আগের মতো করুন</translation>
  </message>
  <message>
   <source>Restore Defaults</source>
   <translation>শুরুর মান ফেরান</translation>
  </message>
 </context>
 <context>
  <name>QGnomeTheme</name>
  <message>
   <source>&amp;OK</source>
   <translation>ঠিক আছে (&amp;O)</translation>
  </message>
  <message>
   <source>&amp;Save</source>
   <translation>সংরক্ষণ (&amp;S)</translation>
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
   <source>Close without Saving</source>
   <translation>সংরক্ষণ না করে বন্ধ করুন</translation>
  </message>
 </context>
 <context>
  <name>QLineEdit</name>
  <message>
   <source>&amp;Undo</source>
   <translation>পূর্বাবস্থা (&amp;U)</translation>
  </message>
  <message>
   <source>&amp;Redo</source>
   <translation>আবার করুন (&amp;R)</translation>
  </message>
  <message>
   <source>Cu&amp;t</source>
   <translation>কাটুন (&amp;T)</translation>
  </message>
  <message>
   <source>&amp;Copy</source>
   <translation>কপি করুন (&amp;C)</translation>
  </message>
  <message>
   <source>&amp;Paste</source>
   <translation>পেস্ট করুন (&amp;P)</translation>
  </message>
  <message>
   <source>Delete</source>
   <translation>মুছুন</translation>
  </message>
  <message>
   <source>Select All</source>
   <translation>সব বাছুন</translation>
  </message>
 </context>
 <context>
  <name>QWidgetTextControl</name>
  <message>
   <source>&amp;Undo</source>
   <translation>পূর্বাবস্থা (&amp;U)</translation>
  </message>
  <message>
   <source>&amp;Redo</source>
   <translation>আবার করুন (&amp;R)</translation>
  </message>
  <message>
   <source>Cu&amp;t</source>
   <translation>কাটুন (&amp;T)</translation>
  </message>
  <message>
   <source>&amp;Copy</source>
   <translation>কপি করুন (&amp;C)</translation>
  </message>
  <message>
   <source>Copy &amp;Link Location</source>
   <translation>লিংকের ঠিকানা কপি করুন (&amp;L)</translation>
  </message>
  <message>
   <source>&amp;Paste</source>
   <translation>পেস্ট করুন (&amp;P)</translation>
  </message>
  <message>
   <source>Delete</source>
   <translation>মুছুন</translation>
  </message>
  <message>
   <source>Select All</source>
   <translation>সব বাছুন</translation>
  </message>
 </context>
 <context>
  <name>QAbstractSpinBox</name>
  <message>
   <source>&amp;Select All</source>
   <translation>সব বাছুন (&amp;S)</translation>
  </message>
  <message>
   <source>&amp;Step up</source>
   <translation>বাড়ান (&amp;S)</translation>
  </message>
  <message>
   <source>Step &amp;down</source>
   <translation>কমান (&amp;D)</translation>
  </message>
 </context>
 <context>
  <name>QFileDialog</name>
  <message>
   <source>Look in:</source>
   <translation>যেখানে দেখবেন:</translation>
  </message>
  <message>
   <source>Back</source>
   <translation>পিছনে</translation>
  </message>
  <message>
   <source>Go back</source>
   <translation>পিছনে যান</translation>
  </message>
  <message>
   <source>Forward</source>
   <translation>সামনে</translation>
  </message>
  <message>
   <source>Go forward</source>
   <translation>সামনে যান</translation>
  </message>
  <message>
   <source>Parent Directory</source>
   <translation>উপরের ফোল্ডার</translation>
  </message>
  <message>
   <source>Go to the parent directory</source>
   <translation>উপরের ফোল্ডারে যান</translation>
  </message>
  <message>
   <source>Create New Folder</source>
   <translation>নতুন ফোল্ডার</translation>
  </message>
  <message>
   <source>Create a New Folder</source>
   <translation>নতুন ফোল্ডার বানান</translation>
  </message>
  <message>
   <source>List View</source>
   <translation>তালিকা</translation>
  </message>
  <message>
   <source>Change to list view mode</source>
   <translation>তালিকা হিসেবে দেখান</translation>
  </message>
  <message>
   <source>Detail View</source>
   <translation>বিস্তারিত</translation>
  </message>
  <message>
   <source>Change to detail view mode</source>
   <translation>বিস্তারিত দেখান</translation>
  </message>
  <message>
   <source>Sidebar</source>
   <translation>পাশের তালিকা</translation>
  </message>
  <message>
   <source>Files</source>
   <translation>ফাইল</translation>
  </message>
  <message>
   <source>Directory:</source>
   <translation>ফোল্ডার:</translation>
  </message>
  <message>
   <source>Directories</source>
   <translation>ফোল্ডার</translation>
  </message>
  <message>
   <source>All Files (*)</source>
   <translation>সব ফাইল (*)</translation>
  </message>
  <message>
   <source>Files of type:</source>
   <translation>ফাইলের ধরন:</translation>
  </message>
  <message>
   <source>File &amp;name:</source>
   <translation>ফাইলের নাম (&amp;N):</translation>
  </message>
  <message>
   <source>&amp;Open</source>
   <translation>খুলুন (&amp;O)</translation>
  </message>
  <message>
   <source>&amp;Save</source>
   <translation>সংরক্ষণ (&amp;S)</translation>
  </message>
  <message>
   <source>&amp;Choose</source>
   <translation>বাছুন (&amp;C)</translation>
  </message>
  <message>
   <source>&amp;Rename</source>
   <translation>নাম বদলান (&amp;R)</translation>
  </message>
  <message>
   <source>&amp;Delete</source>
   <translation>মুছুন (&amp;D)</translation>
  </message>
  <message>
   <source>Show &amp;hidden files</source>
   <translation>লুকানো ফাইল দেখান (&amp;H)</translation>
  </message>
  <message>
   <source>&amp;New Folder</source>
   <translation>নতুন ফোল্ডার (&amp;N)</translation>
  </message>
  <message>
   <source>New Folder</source>
   <translation>নতুন ফোল্ডার</translation>
  </message>
  <message>
   <source>Find Directory</source>
   <translation>ফোল্ডার খুঁজুন</translation>
  </message>
  <message>
   <source>Open</source>
   <translation>খুলুন</translation>
  </message>
  <message>
   <source>Save As</source>
   <translation>অন্য নামে সংরক্ষণ</translation>
  </message>
  <message>
   <source>My Computer</source>
   <translation>আমার কম্পিউটার</translation>
  </message>
  <message>
   <source>Recent Places</source>
   <translation>সাম্প্রতিক জায়গা</translation>
  </message>
  <message>
   <source>Remove</source>
   <translation>সরান</translation>
  </message>
 </context>
 <context>
  <name>QFileSystemModel</name>
  <message>
   <source>Name</source>
   <translation>নাম</translation>
  </message>
  <message>
   <source>Size</source>
   <translation>আকার</translation>
  </message>
  <message>
   <source>Kind</source>
   <translation>ধরন</translation>
  </message>
  <message>
   <source>Type</source>
   <translation>ধরন</translation>
  </message>
  <message>
   <source>Date Modified</source>
   <translation>বদলের তারিখ</translation>
  </message>
  <message>
   <source>My Computer</source>
   <translation>আমার কম্পিউটার</translation>
  </message>
  <message>
   <source>Computer</source>
   <translation>কম্পিউটার</translation>
  </message>
 </context>
 <context>
  <name>QMessageBox</name>
  <message>
   <source>OK</source>
   <translation>ঠিক আছে</translation>
  </message>
  <message>
   <source>Help</source>
   <translation>সহায়তা</translation>
  </message>
  <message>
   <source>Show Details...</source>
   <translation>বিস্তারিত দেখান…</translation>
  </message>
  <message>
   <source>Hide Details...</source>
   <translation>বিস্তারিত লুকান…</translation>
  </message>
 </context>
 <context>
  <name>QWizard</name>
  <message>
   <source>&lt; &amp;Back</source>
   <translation>&lt; পিছনে (&amp;B)</translation>
  </message>
  <message>
   <source>&amp;Next</source>
   <translation>পরে (&amp;N)</translation>
  </message>
  <message>
   <source>&amp;Next &gt;</source>
   <translation>পরে (&amp;N) &gt;</translation>
  </message>
  <message>
   <source>&amp;Finish</source>
   <translation>শেষ (&amp;F)</translation>
  </message>
  <message>
   <source>Cancel</source>
   <translation>বাতিল</translation>
  </message>
  <message>
   <source>Commit</source>
   <translation>করুন</translation>
  </message>
  <message>
   <source>Continue</source>
   <translation>চলুন</translation>
  </message>
  <message>
   <source>Done</source>
   <translation>হয়ে গেছে</translation>
  </message>
  <message>
   <source>Go Back</source>
   <translation>পিছনে যান</translation>
  </message>
  <message>
   <source>Help</source>
   <translation>সহায়তা</translation>
  </message>
  <message>
   <source>&amp;Help</source>
   <translation>সহায়তা (&amp;H)</translation>
  </message>
 </context>
</TS>
