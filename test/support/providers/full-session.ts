import {
  assistantMessage,
  type BlobStore,
  type Message,
  memoryBlobStore,
  memorySessionStore,
  type Session,
  type ToolCall,
  toolResult,
  userMessage,
} from "sessile";
import { ingest } from "sessile/attachments";
import { bytesOf, pdf, png } from "../../attachments/samples.js";

const call = (id: string): ToolCall => ({ type: "toolCall", id, name: "read", arguments: { path: "a.png" } });

/** A session of the turn that another provider's model has not ended, with everything that makes a request hard. */
export async function fullSession(): Promise<{ readonly session: Session; readonly blobs: BlobStore }> {
  const blobs = memoryBlobStore();
  const session = await memorySessionStore().create({ cwd: "/" });
  const [image, report, notes, shot] = await Promise.all([
    ingest({ bytes: png(3, 4), name: "screen.png" }, { blobs }),
    ingest({ bytes: pdf, name: "report.pdf" }, { blobs }),
    ingest({ bytes: bytesOf("# Notes\n"), name: "notes.md" }, { blobs }),
    ingest({ bytes: png(5, 6), name: "shot.png" }, { blobs }),
  ]);
  const messages: Message[] = [
    { role: "system", content: "Be brief.", timestamp: 1 },
    userMessage("What is wrong here?", image, report, notes),
    assistantMessage(
      { provider: "elsewhere", model: "other-1" },
      { type: "thinking", thinking: "Their secret.", thinkingSignature: "theirs" },
      "Let me look.",
      call("call_1|fc_2"),
      call("toolu_2"),
      call("never answered"),
    ),
    { ...toolResult({ id: "toolu_2", name: "read" }, "no such file"), isError: true },
    toolResult({ id: "call_1|fc_2", name: "read" }, "the screen:", shot),
  ];
  for (const message of messages) await session.appendMessage(message);
  return { session, blobs };
}
