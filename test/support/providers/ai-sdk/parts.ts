import { isRecord } from "../../plain-values.js";
import { step } from "../json-walk.js";

/** A call of `generateText`, as far as messages go. */
export interface AiSdkCall {
  /** The provider of the model, such as `anthropic.messages`. */
  readonly provider: string;
  readonly system?: unknown;
  readonly messages: unknown;
}

/** Something in a message, and where it stands. */
export interface PlacedPart {
  readonly path: string;
  readonly role: unknown;
  /** Index of the message. */
  readonly at: number;
  readonly part: Record<string, unknown>;
}

/** The messages that are objects. */
export function messagesOf({ messages }: AiSdkCall): readonly Record<string, unknown>[] {
  return Array.isArray(messages) ? messages.filter(isRecord) : [];
}

/** The parts of all messages, in order. */
export function partsOf(call: AiSdkCall): readonly PlacedPart[] {
  return messagesOf(call).flatMap(({ role, content }, at) => {
    if (!Array.isArray(content)) return [];
    return content.flatMap((part: unknown, index) =>
      isRecord(part) ? [{ path: `messages.${at}.content.${index}`, role, at, part }] : [],
    );
  });
}

/** What is inside of tools' results that have several parts. */
export function resultPartsOf(call: AiSdkCall): readonly PlacedPart[] {
  return partsOf(call).flatMap(({ path, role, at, part }) => {
    const { output } = part;
    if (part.type !== "tool-result" || !isRecord(output) || !Array.isArray(output.value)) return [];
    return output.value.flatMap((inner: unknown, index) =>
      isRecord(inner) ? [{ path: step(`${path}.output.value`, index), role, at, part: inner }] : [],
    );
  });
}

/** Media of user messages, of assistant messages and of tools' results. */
export function filesOf(call: AiSdkCall): readonly PlacedPart[] {
  return [
    ...partsOf(call).filter(({ part }) => part.type === "file"),
    ...resultPartsOf(call).filter(({ part }) => part.type === "image-data" || part.type === "file-data"),
  ];
}
