import { isRecord } from "../../internal/shape.js";
import { parsed } from "./json.js";
import { hasMembers, type Members } from "./members.js";
import type {
  OpenaiAnnotation,
  OpenaiCaller,
  OpenaiOutputMessage,
  OpenaiOutputPart,
  OpenaiPhase,
  OpenaiStatus,
} from "./responses-value.js";

/**
 * Metadata of a text, stored beside it so that its item is sent back unchanged. The form is pi's: the bare
 * id, or JSON with `v`, `id` and `phase`. Each program thus continues the other's sessions. Members that pi
 * does not have are in `sessile`.
 */
export interface TextMark {
  /** Empty if the message came without one. */
  readonly id: string;
  readonly phase?: OpenaiPhase;
  readonly status: OpenaiStatus;
  /** No reasoning led to it, so that its id can go without one. */
  readonly alone: boolean;
  /** How the text divides into parts; absent for one text without annotations. */
  readonly parts?: readonly PartMark[];
}

type PartMark =
  | { readonly type: "output_text"; readonly length: number; readonly annotations: OpenaiAnnotation[] }
  | { readonly type: "refusal"; readonly length: number };

/** Metadata of a call beyond its id, name and arguments. */
export interface CallMark {
  readonly alone: boolean;
  /**
   * A call of a custom tool, whose text is the argument `input`: the id of its item, or an empty text. It is
   * not part of the stored id, as pi would read it there as the id of a function call.
   */
  readonly custom?: string;
  /** A search for tools that the client answers: the id of its item, or an empty text. */
  readonly search?: string;
  /**
   * A call of a tool of OpenAI's own that the client answers: its item without the call's id and arguments.
   */
  readonly item?: Readonly<Record<string, unknown>>;
  /** The arguments as the model wrote them. */
  readonly arguments?: string;
  readonly namespace?: string;
  readonly caller?: OpenaiCaller;
  readonly status: OpenaiStatus;
}

/** Prints the metadata of an assistant message; undefined if it has no id and nothing else to keep. */
export function printTextMark(
  { id, phase, status, content }: OpenaiOutputMessage,
  alone: boolean,
): string | undefined {
  const [only] = content;
  const isPlain = content.length === 1 && only?.type === "output_text" && only.annotations.length === 0;
  const more = {
    ...(alone ? { alone } : {}),
    ...(status === "completed" ? {} : { status }),
    ...(isPlain ? {} : { parts: content.map(partMark) }),
  };
  if (id === "" && phase === undefined && Object.keys(more).length === 0) return undefined;
  const known = { v: 1, id, ...(phase === undefined ? {} : { phase }) };
  return JSON.stringify(Object.keys(more).length === 0 ? known : { ...known, sessile: more });
}

function partMark(part: OpenaiOutputPart): PartMark {
  return part.type === "refusal"
    ? { type: "refusal", length: part.refusal.length }
    : { type: "output_text", length: part.text.length, annotations: part.annotations };
}

/** Reads the metadata of a text, pi's or this library's. */
export function readTextMark(mark: string): TextMark {
  const data = mark.startsWith("{") ? parsed(mark) : undefined;
  if (!isRecord(data) || data.v !== 1 || typeof data.id !== "string") {
    return { id: mark, status: "completed", alone: false };
  }
  const more = isRecord(data.sessile) ? data.sessile : {};
  const parts = Array.isArray(more.parts) && more.parts.every(isPartMark) ? { parts: more.parts } : {};
  return {
    id: data.id,
    ...(isPhase(data.phase) ? { phase: data.phase } : {}),
    status: isStatus(more.status) ? more.status : "completed",
    alone: more.alone === true,
    ...parts,
  };
}

/** Splits a text into the parts of its metadata; one part if the lengths do not match. */
export function partsOf(text: string, { parts }: Pick<TextMark, "parts">): OpenaiOutputPart[] {
  const length = parts?.reduce((sum, part) => sum + part.length, 0);
  if (parts === undefined || length !== text.length) return [{ type: "output_text", text, annotations: [] }];
  let at = 0;
  return parts.flatMap((part): OpenaiOutputPart[] => {
    const piece = text.slice(at, at + part.length);
    at += part.length;
    if (piece === "") return [];
    return part.type === "refusal"
      ? [{ type: "refusal", refusal: piece }]
      : [{ type: "output_text", text: piece, annotations: structuredClone(part.annotations) }];
  });
}

/** Prints the metadata of a call; undefined if there is nothing to keep. */
export function printCallMark(mark: CallMark): string | undefined {
  const { alone, custom, search, item, status, arguments: text, namespace, caller } = mark;
  const said = {
    ...(alone ? { alone } : {}),
    ...(custom === undefined ? {} : { custom }),
    ...(search === undefined ? {} : { search }),
    ...(item === undefined ? {} : { item }),
    ...(text === undefined ? {} : { arguments: text }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(caller === undefined ? {} : { caller }),
    ...(status === "completed" ? {} : { status }),
  };
  return Object.keys(said).length === 0 ? undefined : JSON.stringify({ v: 1, ...said });
}

/** Reads the metadata of a call. */
export function readCallMark(mark: string | undefined): CallMark {
  const data = mark === undefined ? undefined : parsed(mark);
  if (!isRecord(data) || data.v !== 1) return { alone: false, status: "completed" };
  return {
    alone: data.alone === true,
    ...(typeof data.custom === "string" ? { custom: data.custom } : {}),
    ...(typeof data.search === "string" ? { search: data.search } : {}),
    ...(isRecord(data.item) ? { item: data.item } : {}),
    ...(typeof data.arguments === "string" ? { arguments: data.arguments } : {}),
    ...(typeof data.namespace === "string" ? { namespace: data.namespace } : {}),
    ...(isCaller(data.caller) ? { caller: data.caller } : {}),
    status: isStatus(data.status) ? data.status : "completed",
  };
}

/** Whether a value is a known phase. */
export function isPhase(value: unknown): value is OpenaiPhase {
  return value === "commentary" || value === "final_answer";
}

/** Whether a value is a status of an item. */
export function isStatus(value: unknown): value is OpenaiStatus {
  return value === "in_progress" || value === "completed" || value === "incomplete";
}

/** Whether a value is a caller. */
export function isCaller(value: unknown): value is OpenaiCaller {
  if (!isRecord(value)) return false;
  return value.type === "direct" || (value.type === "program" && typeof value.caller_id === "string");
}

function isPartMark(value: unknown): value is PartMark {
  if (!isRecord(value) || !Number.isSafeInteger(value.length) || Number(value.length) < 0) return false;
  if (value.type === "refusal") return true;
  return (
    value.type === "output_text" && Array.isArray(value.annotations) && value.annotations.every(isAnnotation)
  );
}

const annotationMembers = {
  file_citation: { file_id: "string", filename: "string", index: "number" },
  url_citation: { url: "string", title: "string", start_index: "number", end_index: "number" },
  container_file_citation: {
    container_id: "string",
    file_id: "string",
    filename: "string",
    start_index: "number",
    end_index: "number",
  },
  file_path: { file_id: "string", index: "number" },
} satisfies Record<OpenaiAnnotation["type"], Members>;

/** Whether a value is an annotation that can be sent back. */
export function isAnnotation(value: unknown): value is OpenaiAnnotation {
  return hasMembers(value, annotationMembers);
}
