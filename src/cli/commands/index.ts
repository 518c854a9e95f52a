/** All commands, in the order of the help. */

import type { Command } from "../command.js";
import { completionCommand } from "./completion.js";
import { ls } from "./ls.js";
import { show } from "./show.js";

export const commands: readonly Command[] = [ls, show, completionCommand(() => commands)];
