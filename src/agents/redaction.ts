/** Redactions: functions of text that replace secrets by the names of their rules, and count them. */

import { describe } from "../core/arguments.js";
import { secretFinder } from "./find-secrets.js";
import { commonSecrets, homeDirectory, patternRule, type SecretRule } from "./secret-rules.js";

/** A redaction of rules. An option `redact` of an import or of `redactSession`. */
export interface SecretRedaction {
  (text: string): string;
  /** The number of replaced secrets by name of the rule, so far. */
  readonly counts: Readonly<Record<string, number>>;
}

const known: ReadonlyMap<string, SecretRule> = new Map(
  [...commonSecrets, homeDirectory].map((rule) => [rule.name, rule]),
);

/**
 * Makes a redaction: a function that puts `[redacted: NAME]` in place of each secret. Secrets are found as
 * they stand; behind escapes of JSON, percent-encoding and references of HTML; split by sequences of a
 * terminal or invisible characters; in base64 and hexadecimal of text; and in base64, hexadecimal and PEM
 * that is wrapped over lines. These may be combined, five deep. It guarantees nothing: only known forms are
 * found. A password in a sentence has no form. A secret that is compressed, encrypted, in UTF-16, in a dump
 * with spaces or in an image stays.
 *
 * @param rules rules; names of them, such as `github-token` or `home-directory`; or expressions of your own,
 *   which are named `custom` and take the time that they take. @default commonSecrets
 * @throws TypeError for an unknown name
 * @example
 * ```ts
 * const redact = secretRedaction([...commonSecrets, "home-directory", /ACME-\d{6}/]);
 * redact("/home/ann has ACME-123456"); // "/home/[redacted: home-directory] has [redacted: custom]"
 * ```
 */
export function secretRedaction(
  rules: readonly (SecretRule | RegExp | string)[] = commonSecrets,
): SecretRedaction {
  if (!Array.isArray(rules)) throw new TypeError(`rules: expected a list, got ${describe(rules)}`);
  const chosen = rules.map(readRule);
  const find = secretFinder(chosen);
  const counts = new Map<string, number>();
  const redact = (text: string): string => {
    const found = find(text);
    if (found.length === 0) return text;
    let out = "";
    let from = 0;
    for (const { start, end, rule } of found) {
      const name = chosen[rule]?.name ?? "custom";
      counts.set(name, (counts.get(name) ?? 0) + 1);
      out += `${text.slice(from, start)}[redacted: ${name}]`;
      from = end;
    }
    return out + text.slice(from);
  };
  const members = { counts: { enumerable: true, get: () => Object.fromEntries(counts) } };
  return Object.defineProperties(redact, members) as SecretRedaction;
}

function readRule(rule: SecretRule | RegExp | string, index: number): SecretRule {
  if (rule instanceof RegExp) return patternRule("custom", rule, "of the caller");
  if (typeof rule === "string") {
    const named = known.get(rule);
    if (named !== undefined) return named;
    throw new TypeError(
      `rules[${index}]: expected one of ${[...known.keys()].join(", ")}, got ${describe(rule)}`,
    );
  }
  if (
    typeof rule?.name === "string" &&
    /^[A-Za-z0-9-]{1,100}$/.test(rule.name) &&
    typeof rule.find === "function"
  ) {
    if (rule.has?.every((text) => /^[\0-\x7f]{2}/.test(text)) !== false) return rule;
  }
  throw new TypeError(`rules[${index}]: expected a rule, an expression or a name, got ${describe(rule)}`);
}
