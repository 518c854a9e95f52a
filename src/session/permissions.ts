/** One rule: what to do when `permission` is asked for something that matches `pattern`. */
export interface PermissionRule {
  /** What is asked for, such as `bash` or `edit`; `*` for all. */
  readonly permission: string;
  /** `*` stands for any run of characters, `?` for one; anything else for itself. */
  readonly pattern: string;
  /** Another writer's word that is not listed counts as `ask`. */
  readonly action: "allow" | "deny" | "ask" | (string & Record<never, never>);
}

/**
 * What the rules say of one request: the last rule that matches wins, and `ask` where none does.
 *
 * @example
 * ```ts
 * evaluatePermission([{ permission: "bash", pattern: "git *", action: "allow" }], "bash", "git status"); // "allow"
 * ```
 */
export function evaluatePermission(
  rules: readonly PermissionRule[],
  permission: string,
  subject: string,
): "allow" | "deny" | "ask" {
  for (let i = rules.length - 1; i >= 0; i--) {
    const rule = rules[i] as PermissionRule;
    if (matchesWildcard(rule.permission, permission) && matchesWildcard(rule.pattern, subject))
      return decided(rule);
  }
  return "ask";
}

/**
 * The rules after somebody answered "always" for a request: an allow rule at the end, and no second copy of it.
 * A pattern that is already allowed by its own rule at the end is not repeated.
 */
export function withApproval(
  rules: readonly PermissionRule[],
  approval: Pick<PermissionRule, "permission" | "pattern">,
): readonly PermissionRule[] {
  const same = (rule: PermissionRule) =>
    rule.permission === approval.permission && rule.pattern === approval.pattern && rule.action === "allow";
  return [
    ...rules.filter((rule) => !same(rule)),
    { permission: approval.permission, pattern: approval.pattern, action: "allow" },
  ];
}

/** An action that this version does not know neither allows nor denies: a person is asked. */
function decided({ action }: PermissionRule): "allow" | "deny" | "ask" {
  if (action === "allow") return "allow";
  return action === "deny" ? "deny" : "ask";
}

/** Iterative matching with one point to go back to: at worst pattern length times text length, never exponential. */
function matchesWildcard(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let starAt = -1;
  let resumeAt = 0;
  while (t < text.length) {
    const wanted = pattern[p];
    if (wanted === "*") {
      starAt = p++;
      resumeAt = t;
    } else if (wanted === "?" || (wanted !== undefined && wanted === text[t])) {
      p++;
      t++;
    } else if (starAt >= 0) {
      p = starAt + 1;
      t = ++resumeAt;
    } else {
      return false;
    }
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}
