import { memoryBlobStore } from "sessile";
import { describe, expect, test } from "vitest";
import { entryRoles } from "../../src/agents/shared/write-steps.js";
import { externalizeEntry } from "../../src/attachments/internal.js";
import { changeTypes } from "../../src/attachments/resources.js";
import { outsideConversation as adapterOutside } from "../../src/frameworks/ai-sdk/append-ui-messages.js";
import { type EntryTypeSpec, entryTypeNames, entryTypes } from "../../src/log/entry-types.js";
import { entryTypesWith } from "../../src/log/internal.js";
import { costedTypes } from "../../src/providers/cost/session-cost.js";
import { hasInline } from "../../src/session/runtime/recording.js";
import { outsideConversation } from "../../src/session/tree/session-tree.js";

const edits = entryTypesWith("edits");
const inContext = entryTypesWith("inContext");

/** The types whose fields have one of some names. */
function typesWithField(...names: readonly string[]): readonly string[] {
  return entryTypeNames.filter((type) =>
    names.some((name) => Object.hasOwn((entryTypes[type] as EntryTypeSpec).fields, name)),
  );
}

describe("lists of entry types in other modules agree with the table", () => {
  test("writers of formats know every type", () => {
    const roles = Object.entries(entryRoles);
    const withRole = (role: string) => roles.flatMap(([type, each]) => (each === role ? [type] : []));
    expect(Object.keys(entryRoles).sort()).toEqual([...entryTypeNames].sort());
    expect(new Set(withRole("message"))).toEqual(inContext);
    expect(new Set(withRole("edit"))).toEqual(edits);
  });

  test("a search for a resource applies every edit", () => {
    expect(changeTypes).toEqual(edits);
  });

  test("a page's messages end before the types outside the conversation", () => {
    expect(adapterOutside).toEqual(outsideConversation);
    expect(outsideConversation).toEqual(new Set([...entryTypesWith("metadata"), "leaf"]));
  });

  test("costs count every type with usage, and every one that names a model", () => {
    const types = typesWithField("usage", "message", "modelId").filter((type) => type !== "message");
    expect(costedTypes).toEqual(new Set(types));
  });

  test("inline images are found in every type with content", async () => {
    const image = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" };
    const content = [image];
    const holder = { message: { role: "user", content }, content, replacement: { content }, part: image };
    const types = typesWithField("message", "content", "replacement", "part");
    expect(types.filter((type) => hasInline({ type, ...holder }))).toEqual(types);
    expect(entryTypeNames.filter((type) => hasInline({ type, ...holder }))).toEqual(types);
    for (const type of types) {
      const { images } = await externalizeEntry({ type, ...holder }, { blobs: memoryBlobStore() });
      expect(images, type).toBe(1);
    }
  });
});
