import { basename } from "node:path";
import { readLocalFile } from "sessile/attachments/node";
import {
  type ClipboardEntry,
  type ComposeStep,
  completeImport,
  type ImportStep,
  insertSteps,
  planDrop,
  planPaste,
} from "sessile/context-tokens";
import { SessileError } from "sessile/errors";
import { type ContextDirectory, maxImportBytes } from "./context-directory.js";

/** What this composer gets from a clipboard: images come with what reads them. */
export type Pasted = ClipboardEntry & { readonly read?: () => Promise<Uint8Array> };

/** A message that is being written. Its whole state is a string, which an editor may change in between. */
export class Composer {
  readonly #context: ContextDirectory;
  #imports: Promise<void>[] = [];
  /** What is written so far; a placeholder stands for each import that is not done. */
  draft = "";

  constructor(context: ContextDirectory) {
    this.#context = context;
  }

  /** Gives the entries that were refused, and why, for the user to see. */
  paste(entries: readonly Pasted[]): readonly string[] {
    return this.#insert(planPaste(entries, { maxBytes: maxImportBytes }));
  }

  /** Gives the entries that were refused, and why, for the user to see. */
  drop(entries: readonly Pasted[]): readonly string[] {
    return this.#insert(planDrop(entries, { maxBytes: maxImportBytes }));
  }

  /** The message to store, once all imports are done; the draft is empty then. */
  async send(): Promise<string> {
    await Promise.all(this.#imports);
    const message = this.draft;
    this.draft = "";
    this.#imports = [];
    return message;
  }

  #insert(steps: readonly ComposeStep<Pasted>[]): readonly string[] {
    this.draft = insertSteps(this.draft, steps);
    const refused: string[] = [];
    for (const step of steps) {
      if (step.type === "import") this.#imports.push(this.#import(step));
      if (step.type === "refused") refused.push(`${nameOf(step.entry)}: ${step.reason}`);
    }
    return refused;
  }

  /** Never rejects: what fails is said in the message. */
  async #import(step: ImportStep<Pasted>): Promise<void> {
    try {
      const path = await this.#context.store(await bytesOf(step.entry), step.mediaType);
      this.draft = completeImport(this.draft, step.id, { path });
    } catch (error) {
      this.draft = completeImport(this.draft, step.id, {
        failed: `${nameOf(step.entry)}: ${reasonOf(error)}`,
      });
    }
  }
}

async function bytesOf(entry: Pasted): Promise<Uint8Array> {
  if (entry.read !== undefined) return entry.read();
  if (entry.type === "text") return new TextEncoder().encode(entry.text);
  if (entry.type === "path") return readFile(entry.path);
  throw new Error("nothing reads it");
}

/** The bytes of a file that the user pointed at, wherever it lies. */
export async function readFile(path: string): Promise<Uint8Array> {
  return (await readLocalFile(path, { maxBytes: maxImportBytes })).bytes;
}

function nameOf(entry: Pasted): string {
  return entry.type === "path" ? basename(entry.path) : `pasted ${entry.type}`;
}

/** The model reads it with the message, so a code must do: the words hold the whole path. */
function reasonOf(error: unknown): string {
  if (SessileError.is(error, "FILE_REFUSED")) return error.details.reason;
  if (!(error instanceof Error)) return String(error);
  return "code" in error ? String(error.code) : error.message;
}
