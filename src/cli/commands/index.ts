/** All commands, in the order of the help. */

import type { Command } from "../command.js";
import { blobsCollect, blobsList, blobsVerify } from "./blobs.js";
import { completionCommand } from "./completion.js";
import { diagnose, salvage } from "./diagnose.js";
import { diff } from "./diff.js";
import { convert, exportCommand, importCommand } from "./interop.js";
import { ls } from "./ls.js";
import { project } from "./project.js";
import { redact } from "./redact.js";
import { search } from "./search.js";
import { serve } from "./serve.js";
import { show } from "./show.js";
import { stats } from "./stats.js";
import { merge, sync } from "./sync.js";
import { view } from "./view.js";

export const commands: readonly Command[] = [
  ls,
  show,
  search,
  stats,
  diff,
  project,
  diagnose,
  salvage,
  blobsList,
  blobsVerify,
  blobsCollect,
  importCommand,
  exportCommand,
  convert,
  redact,
  merge,
  sync,
  view,
  serve,
  completionCommand(() => commands),
];
