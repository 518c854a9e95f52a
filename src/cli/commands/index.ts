/** All commands, in the order of the help. */

import type { Command } from "../command.js";
import { blobsCollect, blobsList, blobsVerify } from "./blobs.js";
import { completionCommand } from "./completion.js";
import { diagnose, salvage } from "./diagnose.js";
import { diff } from "./diff.js";
import { ls } from "./ls.js";
import { project } from "./project.js";
import { show } from "./show.js";

export const commands: readonly Command[] = [
  ls,
  show,
  diff,
  project,
  diagnose,
  salvage,
  blobsList,
  blobsVerify,
  blobsCollect,
  completionCommand(() => commands),
];
