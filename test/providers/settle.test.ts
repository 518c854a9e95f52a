import type { TextPart, UserPart } from "sessile";
import { describe, expect, test } from "vitest";
import type { AttachmentState } from "../../src/providers/attachment-state.js";
import { finalizeRequest, isEmptyRequest } from "../../src/providers/finalize-request.js";
import { LossList } from "../../src/providers/losses.js";
import { mediaPart } from "../../src/providers/media-part.js";
import type {
  PairedResult,
  PendingAttachment,
  PendingTurn,
  PendingUserPart,
} from "../../src/providers/request.js";
import { image, pdf, png } from "../attachments/samples.js";
import { plainTarget, work } from "./samples.js";

const at = (item: number, block = 0) => ({ entryId: `m${item}`, item, block });
const text = (words: string, item = 0): TextPart => ({ type: "text", text: words, origin: at(item) });

/** A place that was decided on: words, and a picture or a PDF behind them. */
function place(words: string, item = 0, media?: "image/png" | "application/pdf"): AttachmentState {
  const made = work(image(1), item);
  made.draft.text = words;
  if (media !== undefined) {
    const bytes = media === "image/png" ? png() : pdf;
    const kind = media === "image/png" ? "image" : "document";
    made.draft.media = mediaPart({ kind, mediaType: media, bytes, origin: at(item), resource: image(1) });
  }
  return made;
}

function settled(
  turns: readonly PendingTurn[],
  works: readonly AttachmentState[] = [],
  system: readonly PendingUserPart[] = [],
) {
  const losses = new LossList();
  const request = finalizeRequest({ system, turns, states: works }, plainTarget(), losses);
  return { request, losses: losses.inOrder() };
}

const brief = (part: { readonly type: string; readonly text?: string; readonly mediaType?: string }) =>
  part.type === "media" ? part.mediaType : part.text;
const briefs = (parts: readonly UserPart[]) => parts.map(brief);
const user = (...parts: readonly PendingUserPart[]): PendingTurn => ({
  role: "user",
  results: [],
  parts: [...parts],
});
const nothing = "[a message with nothing that can be shown]";

function userTurn(turn: PendingTurn, works: readonly AttachmentState[] = []) {
  const { request, losses } = settled([turn], works);
  const [only] = request.turns;
  if (only?.role !== "user") return expect.fail("no user turn");
  return { results: only.results.map(({ parts }) => briefs(parts)), parts: briefs(only.parts), losses };
}

const result = (...parts: readonly PendingUserPart[]): PairedResult => ({
  callId: "c",
  storedCallId: "c",
  name: "t",
  isError: false,
  parts,
  origin: { entryId: "m0", item: 0 },
});

describe("settle", () => {
  // @covers R26
  test("puts words, and media behind them, in their place", () => {
    const works = [place("[shot]", 0, "image/png"), place("[gone]"), place("", 0, "image/png")];
    const [shot, gone, inline] = works.map(({ draft }) => draft) as [
      PendingAttachment,
      PendingAttachment,
      PendingAttachment,
    ];
    expect(userTurn(user(text("a"), shot, text("b"), gone, inline), works).parts).toEqual([
      "a",
      "[shot]",
      "image/png",
      "b",
      "[gone]",
      "image/png",
    ]);
  });

  test("takes parts over as they are where there is no attachment", () => {
    const parts = [text("a"), text("b")];
    expect(settled([{ role: "user", results: [], parts }]).request.turns[0]?.parts).toBe(parts);
  });

  test("says of each message by itself that nothing of it is left, whatever stands beside it", () => {
    const gone = (item: number) => place("", item);
    const [a, b, c] = [gone(0), gone(0), gone(2)];
    const works = [a, b, c];
    expect(userTurn(user(a.draft, b.draft), works).parts).toEqual([nothing]);
    expect(userTurn(user(a.draft, b.draft, text("x", 1), c.draft), works).parts).toEqual([
      nothing,
      "x",
      nothing,
    ]);
    expect(userTurn({ role: "user", results: [result(text("r"))], parts: [a.draft] }, works).parts).toEqual([
      nothing,
    ]);
    const { request } = settled([user(text("x")), { role: "assistant", parts: [c.draft] }], works);
    expect(request.turns[1]?.parts).toMatchObject([{ type: "text", text: nothing, origin: at(2) }]);
  });

  test("a result of nothing says so", () => {
    const gone = place("");
    expect(
      userTurn({ role: "user", results: [result(), result(gone.draft)], parts: [] }, [gone]).results,
    ).toEqual([["[no output]"], ["[no output]"]]);
  });

  test("moves from a result what is taken of a user only, behind all results and before what the user says", () => {
    const [shot, paper, late] = [
      place("[shot]", 0, "image/png"),
      place("[paper]", 0, "application/pdf"),
      place("[late]", 0, "application/pdf"),
    ];
    const turn: PendingTurn = {
      role: "user",
      results: [result(paper.draft, shot.draft), result(text("r"), late.draft)],
      parts: [text("so?", 1)],
    };
    const named = "[image shot-1.png, image/png, 100 B, res_0000000000000001]";
    const { results, parts, losses } = userTurn(turn, [shot, paper, late]);
    expect(results).toEqual([
      [`${named} (shown after the results)`, "[shot]", "image/png"],
      ["r", `${named} (shown after the results)`],
    ]);
    expect(parts).toEqual([named, "application/pdf", named, "application/pdf", "so?"]);
    expect(losses.map(({ code, by, instead }) => [code, by, instead])).toEqual([
      ["moved", "target", `${named} (shown after the results)`],
      ["moved", "target", `${named} (shown after the results)`],
    ]);
  });

  test("instructions are words alone, and those of which nothing may leave are none", () => {
    const [kept, gone] = [place("[kept]"), place("")];
    const { request } = settled([user(text("x"))], [kept, gone], [text("a"), gone.draft, kept.draft]);
    expect(request.system.map(brief)).toEqual(["a", "[kept]"]);
  });

  test("of nothing at all makes a request that says so", () => {
    const { request } = settled([]);
    expect(isEmptyRequest(request)).toBe(true);
    expect(request.turns).toMatchObject([
      { role: "user", parts: [{ text: "[There is nothing to show yet.]" }] },
    ]);
    expect(isEmptyRequest(settled([user(text("a"))]).request)).toBe(false);
  });
});
