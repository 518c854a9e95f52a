import { fileSessionStore } from "sessile/node";
import { say } from "./say.js";

/** What a test of followers has another process do. */
export const followRoles: Readonly<Record<string, (...args: string[]) => Promise<void>>> = {
  /** Follows a session, and says the id of each entry, what is diagnosed, that it was deleted, and that following ended. */
  async follow(dir = "", id = "", pollMs = "1000") {
    const session = await fileSessionStore({ dir }).open(id);
    session.on("diagnostic", ({ code }) => say(`diagnostic ${code}`));
    session.on("deleted", () => say("deleted"));
    say(`begins with ${(await session.tree()).size}`);
    const { signal } = new AbortController();
    for await (const entry of session.follow({ signal, pollMs: Number(pollMs) })) say(entry.id);
    say("ended");
    // What it has read can still be looked at.
    say(`context of ${(await session.context()).items.length}`);
    await session.close();
  },
};
