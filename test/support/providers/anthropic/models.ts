/** The version of a Claude model by its id: `claude-sonnet-4-5-20250929` is 4.5. Undefined where the id has none. */
function versionOf(model: string): number | undefined {
  const [, major, minor = "0"] = /claude-(?:[a-z]+-)*(\d)(?:-(\d{1,2}))?(?![0-9])/.exec(model) ?? [];
  return major === undefined ? undefined : Number(`${major}.${minor}`);
}

/** Whether a model is from 4.6 on; what has no version, such as `claude-mythos-preview`, is taken for one. */
export function isRecent(model: string): boolean {
  return (versionOf(model) ?? 5) >= 4.6;
}
