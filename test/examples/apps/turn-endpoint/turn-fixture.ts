import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { assistantMessage } from "sessile";
import { fileBlobStore } from "sessile/node";
import { type LocalProvider, startLocalProvider } from "../../../../examples/apps/support/local-provider.js";
import { claude, type Model } from "../../../../examples/apps/turn-endpoint/claude.js";
import { type TurnClient, turnClient } from "../../../../examples/apps/turn-endpoint/client.js";
import { followTurnScript } from "../../../../examples/apps/turn-endpoint/script.js";
import {
  startTurnServer,
  type TurnServer,
  type TurnServerOptions,
} from "../../../../examples/apps/turn-endpoint/server.js";
import { viewingToolDeclarations } from "../../../../examples/apps/turn-endpoint/turn.js";

export const maker = { provider: "anthropic", model: "claude-opus-5-5" };

/** Directories that outlive a server. */
export class TurnFixture implements AsyncDisposable {
  /** The directory of the server. */
  readonly dir = mkdtempSync(join(tmpdir(), "sessile-turn-test-"));
  readonly #open: AsyncDisposable[] = [];

  /** A directory in which the server reads files. */
  get workspace(): string {
    return join(this.dir, "workspace");
  }

  /** Starts a server with a model of its own. */
  async serve(model: Model, options: Partial<TurnServerOptions> = {}): Promise<Served> {
    await mkdir(this.workspace, { recursive: true });
    const { dir, workspace } = this;
    const server = await startTurnServer({ dir, workspace, model, maker, ...options });
    this.#open.push(server);
    return { server, client: turnClient(server) };
  }

  /** Starts a server whose model is the official client with a scripted provider. */
  async serveClaude(
    options: Partial<TurnServerOptions> & { readonly paceMs?: number } = {},
  ): Promise<Served & { readonly provider: LocalProvider }> {
    const { paceMs = 0, ...rest } = options;
    const provider = await startLocalProvider({ script: followTurnScript, paceMs });
    const blobs = fileBlobStore({ dir: join(this.dir, "blobs") });
    const client = new Anthropic({ apiKey: "none", baseURL: provider.url, maxRetries: 0 });
    const model = claude({ client, model: maker.model, blobs, tools: viewingToolDeclarations });
    const served = await this.serve(model, rest);
    this.#open.push(provider);
    return { ...served, provider };
  }

  /** Writes a file into the workspace, and returns its path. */
  file(name: string, content: Uint8Array | string): string {
    const path = join(this.workspace, name);
    writeFileSync(path, content);
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#open) await one[Symbol.asyncDispose]();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

export interface Served {
  readonly server: TurnServer;
  readonly client: TurnClient;
}

/** A model with a constant reply. */
export const modelThatSays = (text: string): Model => ({
  async generate(_context, { onText }) {
    onText?.(text);
    return assistantMessage(maker, text);
  },
});

/** A model that says a word, and continues on request. */
export function heldModel(): { readonly model: Model; release(): void } {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const model: Model = {
    async generate(_context, { signal, onText }) {
      onText?.("Well, ");
      const aborted = new Promise<never>((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
      await Promise.race([held, aborted]);
      onText?.("yes.");
      return assistantMessage(maker, "Well, yes.");
    },
  };
  return { model, release };
}
