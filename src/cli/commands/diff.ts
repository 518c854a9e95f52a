/** `diff`: two points of a session: entries of each alone, and the difference of their contexts. */

import type { Session, SessionEntry, UnknownEntry } from "../../session/index.js";
import type { CommandBody } from "../command.js";
import { headline, messageLine } from "../entry-text.js";
import { type Output, truncated } from "../output.js";
import { openNamed, sourceOptions } from "../sources.js";
import { sessionId } from "./show.js";

interface Side {
  readonly entries: readonly (SessionEntry | UnknownEntry)[];
  readonly context: readonly {
    readonly entryId: string | undefined;
    readonly text: string;
    readonly role: string;
  }[];
}

const diff: CommandBody = {
  description: [
    "Shows the entries after the last common one, and the messages that a model gets at one point alone, such as",
    "those that a compaction or an edit took out.",
  ],
  finds: "if the points differ",
  arguments: [
    { name: "S", kind: "session", description: "The session." },
    {
      name: "A",
      kind: "text",
      offers: ["leaf"],
      description: "An entry, by its id or a unique start; `leaf` is the leaf.",
    },
    { name: "B", kind: "text", offers: ["leaf"], description: "Another entry." },
  ],
  options: sourceOptions,
  examples: [{ line: "sessile diff latest 17de5353 leaf", does: "the entries and messages since an entry" }],
  async run(parsed, context) {
    const [name = "", ...points] = parsed.positionals;
    const { out } = context;
    const opened = await openNamed(name, parsed, context);
    try {
      const { session } = opened;
      const ids: (string | null)[] = [];
      for (const point of points)
        ids.push(point === "leaf" ? session.leafId : await sessionId(session, point));
      const [a, b] = (await Promise.all(ids.map((id) => sideAt(session, id)))) as [Side, Side];
      const shared = sharedLength(a.entries, b.entries);
      const result = {
        common: a.entries[shared - 1]?.id ?? null,
        entries: { a: a.entries.slice(shared), b: b.entries.slice(shared) },
        context: difference(a.context, b.context),
        ...(opened.damaged > 0 && { damaged: opened.damaged }),
      };
      const differs = result.entries.a.length + result.entries.b.length > 0;
      if (out.json) await out.value(result);
      else await print(result, out);
      return differs ? 1 : 0;
    } finally {
      await opened.close();
    }
  },
};

async function sideAt(session: Session, id: string | null): Promise<Side> {
  const { items } = await session.context(id);
  return {
    entries: await session.path(id),
    context: items.map(({ entryId, message }) => ({
      entryId,
      role: message.role,
      text: messageLine(message),
    })),
  };
}

function sharedLength(a: Side["entries"], b: Side["entries"]): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at]?.id === b[at]?.id) at++;
  return at;
}

/** Messages that only one context has. Two messages are equal if their entries and texts are. */
function difference(a: Side["context"], b: Side["context"]) {
  const sideKey = ({ entryId, role, text }: Side["context"][number]) => JSON.stringify([entryId, role, text]);
  const [inA, inB] = [new Set(a.map(sideKey)), new Set(b.map(sideKey))];
  return {
    a: a.filter((message) => !inB.has(sideKey(message))),
    b: b.filter((message) => !inA.has(sideKey(message))),
    same: a.filter((message) => inB.has(sideKey(message))).length,
  };
}

interface Result {
  readonly common: string | null;
  readonly entries: { readonly a: Side["entries"]; readonly b: Side["entries"] };
  readonly context: ReturnType<typeof difference>;
}

async function print({ common, entries, context }: Result, out: Output): Promise<void> {
  const width = Math.min(out.columns, 200);
  await out.line(out.style("bold", `Entries after ${common === null ? "the start" : out.clean(common)}`));
  for (const [sign, side] of signed(entries)) {
    for (const entry of side) {
      const { kind, text } = headline(entry);
      await out.line(styled(out, sign, truncated(out.clean(`${entry.id} ${kind}: ${text}`), width - 2)));
    }
  }
  await out.line("", out.style("bold", `Context: ${context.same} messages in both`));
  for (const [sign, side] of signed(context)) {
    for (const { entryId, role, text } of side)
      await out.line(styled(out, sign, truncated(out.clean(`${entryId ?? ""} ${role}: ${text}`), width - 2)));
  }
}

function signed<T>({ a, b }: { readonly a: T; readonly b: T }): readonly (readonly ["-" | "+", T])[] {
  return [
    ["-", a],
    ["+", b],
  ];
}

function styled(out: Output, sign: "-" | "+", text: string): string {
  return out.style(sign === "-" ? "red" : "green", `${sign} ${text}`);
}

export const bodies = { diff };
