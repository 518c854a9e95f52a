import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Said, Turn } from "./offline-claude.js";

/** A directory to try the assistant in, with a document. */
export async function scratchDirectory(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "sessile-assistant-"));
  await mkdir(join(dir, "documents"));
  await writeFile(join(dir, "documents", "bergen.md"), "# Bergen\n\nThe night train leaves Oslo at 23:00.\n");
  return dir;
}

/** The model of the assistant without a key. */
export function script({ prompt, results }: Turn): readonly Said[] {
  const steps = (last: string, ...calls: readonly Said[]) =>
    results.length < calls.length ? calls.slice(results.length, results.length + 1) : [last];
  const remember = (text: string) => ({
    name: "set_memory",
    input: { label: "facts", action: "add", text },
  });
  const bergen = { label: "documents", name: "bergen.md" };
  if (prompt.includes("Anna"))
    return steps("Hello Anna.", remember("lives in Oslo\nis allergic to hazelnuts"));
  if (prompt.includes("trains")) {
    return steps(
      "By the night train, at 23:00.",
      remember("prefers trains"),
      { name: "load_document", input: bergen },
      { name: "unload_document", input: bergen },
    );
  }
  if (prompt.includes("ships")) return steps("Ships it is.", remember("prefers ships"));
  if (prompt.includes("hazelnuts")) {
    const search = { name: "search_memory", input: { query: "hazelnuts" } };
    return steps(results.join().includes("allergic") ? "You are allergic to them." : "Nothing.", search);
  }
  if (prompt.includes("Ben")) return steps("Hello Ben.", remember("is called Ben"));
  return ["That is not in my script. Set ANTHROPIC_API_KEY to ask Claude."];
}
