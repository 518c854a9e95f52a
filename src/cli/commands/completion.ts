/** `completion`: the script that completes commands, options and ids in a shell. */

import type { Command } from "../command.js";
import { UsageError } from "../command.js";
import { completionScript, type Shell, shells } from "../completion.js";

/** @param commands all commands, this one included */
export function completionCommand(commands: () => readonly Command[]): Command {
  return {
    name: "completion",
    summary: "Print the completion script of a shell",
    description: [],
    arguments: [{ name: "SHELL", kind: "text", description: `One of: ${shells.join(", ")}.` }],
    options: [],
    examples: [
      { line: "source <(sessile completion bash)", does: "completes in this bash" },
      { line: "sessile completion fish | source", does: "completes in this fish" },
    ],
    async run({ positionals: [shell = ""] }, { out }) {
      if (!(shells as readonly string[]).includes(shell))
        throw new UsageError(`SHELL: expected ${shells.join(", ")}, got ${JSON.stringify(shell)}`);
      await out.write(completionScript(shell as Shell, commands()));
      return 0;
    },
  };
}
