/**
 * Projects a message with these images to Anthropic's API: from bytes that are at hand, so that no store is measured, and
 * without its limit of a body's size, which 24 MB of images are just over.
 *
 * @param {string} built
 * @param {readonly Uint8Array[]} images
 */
export async function projectImages(built, images) {
  /** @type {typeof import("sessile")} */
  const { project } = await import(`${built}/index.js`);
  /** @type {typeof import("sessile/anthropic")} */
  const { anthropicMessages } = await import(`${built}/anthropic.js`);
  /** @type {typeof import("sessile")} */
  const { contextFrom, userMessage } = await import(`${built}/index.js`);
  /** @type {typeof import("sessile/limits")} */
  const { limitProfiles } = await import(`${built}/limits.js`);
  const stored = images.map((bytes, at) => {
    const digits = at.toString(16);
    const contentSha256 = digits.padStart(64, "0");
    return {
      resourceId: `res_${digits.padStart(16, "0")}`,
      kind: /** @type {const} */ ("image"),
      name: `${at}.png`,
      mediaType: "image/png",
      size: bytes.length,
      contentSha256,
      blob: /** @type {const} */ (`sha256:${contentSha256}`),
      width: 100,
      height: 100,
      source: /** @type {const} */ ("upload"),
    };
  });
  const payloads = new Map(stored.map(({ blob }, at) => [/** @type {string} */ (blob), images[at]]));
  const { anthropic } = limitProfiles;
  const profile = { ...anthropic, rows: anthropic.rows.filter(({ rule }) => rule !== "bodyBytes") };
  return project(
    contextFrom([userMessage("What is wrong here?", ...stored)]),
    anthropicMessages({ model: "claude-opus-5-5", profile }),
    { blobs: { get: async (ref) => payloads.get(ref) ?? new Uint8Array() } },
  );
}
