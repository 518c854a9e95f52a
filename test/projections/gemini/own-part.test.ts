import { describe, expect, test } from "vitest";
import { ownPart } from "../../../src/projections/gemini/shapes.js";

describe("ownPart", () => {
  test.each([
    [{ executableCode: { language: "PYTHON", code: "1" } }],
    [{ codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" }, thoughtSignature: "YQ==" }],
    [{ inlineData: { mimeType: "image/png", data: "AAAA" }, thought: true }],
    [{ text: "", thoughtSignature: "YQ==" }],
  ])("copies %j", (data) => {
    const part = ownPart(data);
    expect(part).toEqual(data);
    expect(part).not.toBe(data);
  });

  test.each([
    [{ text: "" }],
    [{ thoughtSignature: "YQ==" }],
    [{ text: "a", executableCode: {} }],
    [{ functionCall: { name: "read" } }],
    [{ functionResponse: { name: "read", response: {} } }],
    [{ type: "server_tool_use", id: "1" }],
    [{ executableCode: {}, added: 1 }],
    [{}],
    [[]],
    ["text"],
    [null],
  ])("has nothing of %j", (data) => {
    expect(ownPart(data)).toBeUndefined();
  });
});
