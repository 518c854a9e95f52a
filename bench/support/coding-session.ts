import {
  type AssistantMessage,
  assistantMessage,
  type BlobStore,
  type Message,
  toolResult,
  userMessage,
} from "sessile";
import { ingest } from "sessile/attachments";
import { pngChunk, png as wholePng } from "../../test/support/media-files.js";

/** One request of a session: the messages that are new since the one before, and the answer that it gets. */
export interface Round {
  /** Of the turn, from 1 on. */
  readonly turn: number;
  /** Seconds since the session began. */
  readonly at: number;
  readonly before: readonly Message[];
  readonly answer: AssistantMessage;
}

/** A screenshot every eighth turn, a PDF of three pages every fortieth, a tool's screenshot every tenth. */
const imageEvery = 8;
const pdfEvery = 40;
const shotEvery = 10;
/** Seconds: one to four minutes, twelve minutes every tenth turn, two hours every fiftieth. */
const pauseAfter = (turn: number) => (turn % 50 === 0 ? 7200 : turn % 10 === 0 ? 720 : 60 + (turn % 4) * 60);

/**
 * A generated coding session: each turn is a question, a call of a tool with its output, and an answer.
 * Outputs have 2 to 8 KB, every ninth 40 KB. The same at every call.
 */
export async function codingSession(turns: number, blobs: BlobStore): Promise<readonly Round[]> {
  const rounds: Round[] = [];
  let at = 0;
  for (let turn = 1; turn <= turns; turn++) {
    const parts = [`Turn ${turn}: ${prose(turn, 300)}`];
    const attached =
      turn % pdfEvery === 5
        ? [await ingest({ bytes: pdf(turn), name: `spec-${turn}.pdf` }, { blobs })]
        : turn % imageEvery === 1
          ? [await ingest({ bytes: png(turn), name: `screen-${turn}.png` }, { blobs })]
          : [];
    const made = { provider: "made", model: "made" } as const;
    const call = {
      type: "toolCall",
      id: `call_${turn}`,
      name: "bash",
      arguments: { command: prose(turn, 80) },
    } as const;
    const shot =
      turn % shotEvery === 3 ? [await ingest({ bytes: png(1000 + turn), name: "shot.png" }, { blobs })] : [];
    const output = prose(turn * 7, turn % 9 === 0 ? 40_000 : 2_000 + (turn % 7) * 1_000);
    rounds.push({
      ...{ turn, at },
      before: [userMessage(...parts, ...attached)],
      answer: assistantMessage(made, prose(turn + 1, 120), call),
    });
    at += 20;
    rounds.push({
      ...{ turn, at },
      before: [toolResult(call, output, ...shot)],
      answer: assistantMessage(made, prose(turn + 2, 900)),
    });
    at += 20 + pauseAfter(turn);
  }
  return rounds;
}

const words =
  "the parser returns early when a token has no closing bracket so its caller retries with offset".split(" ");

/** About so many characters, other ones for every number. */
export function prose(number: number, characters: number): string {
  let state = number * 2_654_435_761 + 1;
  let text = "";
  while (text.length < characters) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    text += `${words[(state >>> 8) % words.length]}${state % 11 === 0 ? `_${state % 1000}` : ""} `;
  }
  return text;
}

/** The size in pixels of every picture. */
export const pictureSize = { width: 1280, height: 800 };
/** Pages of every PDF. */
export const pdfPages = 3;

/** A PNG of 20 KB, most of which is a chunk that no reader knows. */
function png(number: number): Uint8Array {
  return wholePng(pictureSize, [pngChunk("fiLl", filled(number, 20_000))]);
}

/** A PDF by its head, of 40 KB. */
function pdf(number: number): Uint8Array {
  const bytes = filled(number, 40_000);
  bytes.set(new TextEncoder().encode("%PDF-1.7\n"));
  bytes.set(new TextEncoder().encode("\n%%EOF\n"), bytes.length - 7);
  return bytes;
}

function filled(number: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = number + 1;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}
