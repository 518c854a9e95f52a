/** A process that appends numbered items to one key, some at a time, and says when it is done. */
import { customEntry } from "sessile";
import { fileSessionStore } from "sessile/node";
import { SessionHandles } from "../../../../src/frameworks/shared/handles.js";

const [dir = "", name = "", count = "0", atATime = "1"] = process.argv.slice(2);
const item = customEntry("sessile.test.item", (data) => data as string);
const handles = new SessionHandles("langgraph", { sessions: fileSessionStore({ dir }), maxOpen: 64 });

for (let from = 0; from < Number(count); from += Number(atATime)) {
  await Promise.all(
    Array.from({ length: Number(atATime) }, (_, at) =>
      handles.append({ partition: "test", key: "one/key" }, async () => ({
        drafts: [item.draft(`${name} ${from + at}`)],
        done: () => undefined,
      })),
    ),
  );
}
await handles.close();
console.log("done");
