/** `view`: a session as one HTML file. */

import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { viewerHtml } from "../../viewer/internal.js";
import { readViewerTemplate } from "../../viewer/node/internal.js";
import { type CommandBody, numberOption, textOption } from "../command.js";
import { writeNewFile } from "../new-file.js";
import { bytesText } from "../output.js";
import { locate, sourceOptions } from "../sources.js";
import { readViewed } from "../viewed.js";

const megabyte = 1_000_000;

const view: CommandBody = {
  description: [
    "The file has data, code and images, and makes no request. Images beyond the budget are left out, the",
    "largest first.",
  ],
  arguments: [{ name: "S", kind: "session", description: "The session." }],
  options: [
    ...sourceOptions,
    { name: "output", short: "o", value: "FILE", description: "The new file. Default: ID.html here." },
    { name: "open", description: "Open the file in the browser." },
    { name: "images", value: "MB", description: "Megabytes of images in the file. Default: 20." },
  ],
  examples: [{ line: "sessile view latest -o session.html --open", does: "the newest session in a browser" }],
  async run(parsed, context) {
    const { out, cwd, signal } = context;
    const images = numberOption(parsed, "images");
    const named = await locate(parsed.positionals[0] ?? "", parsed, context);
    const { source, blobs } = await readViewed(named, parsed, context);
    const { parts, leftOut } = await viewerHtml(source, {
      template: await readViewerTemplate(),
      agent: named.agent,
      ...(blobs && { blobs }),
      ...(images === undefined ? {} : { maxImageBytes: images * megabyte }),
    });
    const name = (source.header?.id ?? "session").replace(/[^\w.-]/g, "_");
    const file = resolve(cwd, textOption(parsed, "output") ?? `${name}.html`);
    await writeNewFile(file, inParts(parts), signal);
    const bytes = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
    if (out.json) await out.value({ file, bytes, leftOut });
    else {
      await out.line(`${out.clean(file)}  ${bytesText(bytes)}`);
      if (leftOut.length > 0) await out.line(`${leftOut.length} images are left out: see --images`);
    }
    if (parsed.options.open === true) openInBrowser(file);
    return 0;
  },
};

async function* inParts(parts: readonly string[]): AsyncGenerator<string> {
  yield* parts;
}

/** Starts the program of the system that opens files, and does not wait for it. */
function openInBrowser(file: string): void {
  const [program, words] =
    process.platform === "darwin"
      ? ["open", [file]]
      : process.platform === "win32"
        ? ["explorer", [file]]
        : ["xdg-open", [file]];
  spawn(program as string, words as string[], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}

export const bodies = { view };
