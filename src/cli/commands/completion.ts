/** `completion`: the script that completes commands, options and ids in a shell. */

import { type CommandBody, type CommandRow, loadCommand, UsageError } from "../command.js";
import { completionScript, type Shell, shells } from "../completion.js";

/** @param commands all commands, this one included */
export function completionCommand(commands: readonly CommandRow[]): CommandBody {
  return {
    description: [
      "Completes commands, options, their values, directories, files, and ids of the newest sessions.",
    ],
    arguments: [
      { name: "SHELL", kind: "text", offers: shells, description: `One of: ${shells.join(", ")}.` },
    ],
    options: [],
    examples: [
      { line: "source <(sessile completion bash)", does: "completes in this bash" },
      { line: "source <(sessile completion zsh)", does: "completes in this zsh, after compinit" },
      { line: "sessile completion fish | source", does: "completes in this fish" },
    ],
    async run({ positionals: [shell = ""] }, { out }) {
      if (!(shells as readonly string[]).includes(shell))
        throw new UsageError(`SHELL: expected ${shells.join(", ")}, got ${JSON.stringify(shell)}`);
      const script = completionScript(shell as Shell, await Promise.all(commands.map(loadCommand)));
      if (out.json) await out.value({ shell, script });
      else await out.write(script);
      return 0;
    },
  };
}
