import { contextFrom, project, userMessage } from "sessile";
import { describe, expect, test } from "vitest";
import { image, png } from "../attachments/samples.js";
import { plainTarget, stored } from "./samples.js";

describe("project", () => {
  test("is called off by its signal before anything is done, also where nothing has to be read", async () => {
    const reason = new Error("enough");
    const target = plainTarget({
      render: () => {
        throw new Error("rendered");
      },
    });
    const signal = AbortSignal.abort(reason);
    await expect(project(contextFrom([userMessage("hi")]), target, { signal })).rejects.toBe(reason);
  });

  test("takes an absent clock for its own", async () => {
    const target = plainTarget({ accepts: { user: ["image/png"], toolResult: [], references: ["file"] } });
    const references = { get: () => ({ kind: "file", id: "f", expiresAt: 1 }) } as const;
    const options: object = { references, now: undefined };
    const { attachments } = await project(contextFrom([userMessage(stored(png()))]), target, options);
    expect(attachments).toMatchObject([{ sent: "descriptor", reason: "missing" }]);
  });

  test.each(["boundary", "replay"] as const)("lets an error of the %s through", async (name) => {
    const error = new Error("no answer");
    const fails = () => {
      throw error;
    };
    const context = contextFrom([userMessage(stored(png()))]);
    await expect(project(context, plainTarget(), { [name]: fails })).rejects.toBe(error);
  });

  test("has a loss of a view of what the request does not hold, where the view stands", async () => {
    const views = [{ entryId: "v0", resourceId: "res_ffffffffffffffff", item: 0 }];
    const { losses } = await project({ ...contextFrom([userMessage("hi")]), views }, plainTarget());
    expect(losses).toMatchObject([
      { code: "unplaced", by: "history", entryId: "v0", resourceId: "res_ffffffffffffffff" },
    ]);
  });

  test("has as many losses as there are such views", async () => {
    const views = Array.from({ length: 200_000 }, (_, at) => ({
      entryId: `v${at}`,
      resourceId: image(at).resourceId,
      item: 0,
    }));
    const { losses } = await project({ ...contextFrom([userMessage("hi")]), views }, plainTarget());
    expect(losses).toHaveLength(views.length);
    expect(losses.at(-1)).toMatchObject({ code: "unplaced", entryId: "v199999" });
  });
});
