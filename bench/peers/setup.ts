import fc from "fast-check";

// Shrinking a failure of whole sessions may take longer than a test is given, and would hide what failed.
fc.configureGlobal({ interruptAfterTimeLimit: 120_000 });
