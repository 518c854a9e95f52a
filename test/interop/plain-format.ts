import type { EntryBuilder, ForeignFormat } from "sessile/interop";
import { encodeUtf8 } from "../../src/internal/bytes.js";

/** JSON Lines of some values. */
export function lines(values: readonly unknown[]): Uint8Array {
  return encodeUtf8(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
}

/** A format with a record a user message, for tests of the driver. It takes the name of one of the formats. */
export const plain: ForeignFormat = {
  name: "codex",
  read(source) {
    let session: EntryBuilder | undefined;
    for (const { path } of source.files) {
      for (const record of source.records(path)) {
        const { kind, id, text, time, parent, cwd } = record.value;
        if (kind === "start") {
          session ??= source.session({ id: String(id), cwd: cwd as string, timestamp: time });
          source.count("start", "mapped", record);
          continue;
        }
        session ??= source.session({ id: path });
        if (kind !== "say") {
          source.count(String(kind), "unmapped", record);
          continue;
        }
        const message = { role: "user", content: text as string, timestamp: session.time(time) } as const;
        session.add(
          { type: "message", message },
          {
            recordId: String(id),
            timestamp: time,
            ...(parent === undefined ? {} : { parentId: parent as string | null }),
          },
        );
        source.count("say", "mapped", record);
      }
    }
  },
  write: () => ({ files: [], resume: [] }),
};
