/** `completion`: the script that completes commands, options and ids in a shell, and its answers. */

import { type CommandBody, UsageError } from "../command.js";
import { completionScripts, offersFor, type Shell, shells } from "../completion.js";
import { truncated } from "../output.js";

const maxDescription = 60;

const completion: CommandBody = {
  description: [
    "Completes commands, options, their values, directories, files, and ids of the newest sessions. With words",
    "after `--` it prints what a shell offers for the last of them, as the script asks for it.",
  ],
  arguments: [
    { name: "SHELL", kind: "text", offers: shells, description: `One of: ${shells.join(", ")}.` },
    { name: "WORD", kind: "text", optional: true, multiple: true, description: "The words of a line." },
  ],
  options: [],
  examples: [
    { line: "source <(sessile completion bash)", does: "completes in this bash" },
    { line: "source <(sessile completion zsh)", does: "completes in this zsh, after compinit" },
    { line: "sessile completion fish | source", does: "completes in this fish" },
  ],
  async run({ positionals: [shell = "", ...words] }, context) {
    const { out } = context;
    if (!(shells as readonly string[]).includes(shell))
      throw new UsageError(`SHELL: expected ${shells.join(", ")}, got ${JSON.stringify(shell)}`);
    if (words.length > 0) {
      const offers = await offersFor(words, context);
      const lines = offers.values.map(({ value, description = "" }) =>
        [value, truncated(out.clean(description), maxDescription)].filter(Boolean).join("\t"),
      );
      if (out.json) await out.value(offers);
      else await out.line(offers.kind, ...lines);
      return 0;
    }
    const script = completionScripts[shell as Shell];
    if (out.json) await out.value({ shell, script });
    else await out.write(script);
    return 0;
  },
};

export const bodies = { completion };
