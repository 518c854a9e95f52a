/**
 * The version in a Claude model's id, as in `claude-sonnet-4-5-20250929`; undefined where there is none. The words of a
 * family are bounded, since a name of nothing else takes quadratic time without.
 */
function versionOf(model: string): { readonly family: string; readonly version: number } | undefined {
  const [, family = "", major, minor = "0"] =
    /claude-((?:[a-z]{1,32}-){0,4})(\d)(?:-(\d{1,2}))?(?!\d)/.exec(model) ?? [];
  if (major === undefined) return undefined;
  return { family: family.replace(/-$/, ""), version: Number(major) * 100 + Number(minor) };
}

/**
 * Whether a request may end with what the model is to go on from, and then not with white space. From version 4.6 on such a request
 * is refused as a whole; of a model that is not known, as behind a proxy, the older way is expected.
 *
 * @see https://platform.claude.com/docs/en/api/errors (stored copy read 2026-11-21)
 */
export function takesPrefill(model: string): boolean {
  return (versionOf(model)?.version ?? 0) < 406;
}

/**
 * Whether a model looks at more of each image: those from 4.7 on do.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/vision (stored copy read 2026-11-21)
 */
export function seesFinely(model: string): boolean {
  return (versionOf(model)?.version ?? 500) >= 407;
}

/**
 * Whether reasoning is valid only while all that stood before it is as it was: for Fable and Mythos from 5.1 on, Opus from 5.5 on,
 * and, as the page says, for later models.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/preserved-thinking (stored copy read 2026-11-21)
 */
export function bindsReasoning(model: string): boolean {
  const known = versionOf(model);
  if (known === undefined) return false;
  return known.version >= (/fable|mythos/.test(known.family) ? 501 : 505);
}
