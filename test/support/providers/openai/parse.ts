import type { z } from "zod";
import type { Fault } from "../rule.js";
import type { OpenaiRule } from "./rule.js";

/** Reads bodies as a schema has them, each body once. */
export function bodyReader<T>(schema: z.ZodType<T>) {
  const read = new WeakMap<object, z.ZodSafeParseResult<T>>();
  const parse = (body: unknown) => {
    if (typeof body !== "object" || body === null) return schema.safeParse(body, { reportInput: true });
    const result = read.get(body) ?? schema.safeParse(body, { reportInput: true });
    read.set(body, result);
    return result;
  };
  const faults = (body: unknown) => {
    const { error } = parse(body);
    return error === undefined ? [] : error.issues.flatMap((issue) => shapeFaults(issue, []));
  };
  /** Checks a body that has the shape; of one that has not, the rules of the shape say so. */
  const check =
    (look: (body: T) => readonly Fault[]) =>
    (body: unknown): readonly Fault[] => {
      const { data } = parse(body);
      return data === undefined ? [] : look(data);
    };
  const of = (code: string) => (body: unknown) =>
    faults(body)
      .filter((fault) => fault.code === code)
      .map(({ path, problem }) => ({ path, problem }));
  return { check, shapeRules: shapeRules(of) };
}

function shapeRules(of: (code: string) => OpenaiRule["check"]): readonly OpenaiRule[] {
  return [
    {
      id: "unknown-parameter",
      code: "unknown_parameter",
      source: "https://github.com/openai/openai-agents-js/issues/87 (read as a stored copy, 2026-11-21)",
      check: of("unknown_parameter"),
    },
    {
      id: "missing-parameter",
      code: "missing_required_parameter",
      source: "https://github.com/microsoft/agent-framework/pull/2414 (read as a stored copy, 2026-11-21)",
      check: of("missing_required_parameter"),
    },
    {
      id: "types",
      code: "invalid_type",
      source: "https://github.com/if-ai/ComfyUI-IF_AI_tools/issues/101 (read as a stored copy, 2026-11-21)",
      check: of("invalid_type"),
    },
    {
      id: "values",
      code: "invalid_value",
      source: "https://github.com/jeremychone/rust-genai/pull/119 (read as a stored copy, 2026-11-21)",
      check: of("invalid_value"),
    },
  ];
}

/** A path as the API writes it: `messages[3].content[1].image_url.url`. */
export function pathOf(keys: readonly PropertyKey[]): string {
  return keys
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("")
    .replace(/^\./, "");
}

type ShapeFault = Fault & { readonly code: string };

function shapeFaults(issue: z.core.$ZodIssue, before: readonly PropertyKey[]): readonly ShapeFault[] {
  const keys = [...before, ...issue.path];
  const path = pathOf(keys);
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => {
        const at = pathOf([...keys, key]);
        return { code: "unknown_parameter", path: at, problem: `Unknown parameter: '${at}'.` };
      });
    case "invalid_type":
      return [
        issue.input === undefined
          ? missing(path)
          : {
              code: "invalid_type",
              path,
              problem: `Invalid type for '${path}': expected ${issue.expected}.`,
            },
      ];
    case "invalid_value":
      return [
        issue.input === undefined
          ? missing(path)
          : {
              code: "invalid_value",
              path,
              problem: `Invalid value for '${path}'. Supported values are: ${issue.values.map(String).join(", ")}.`,
            },
      ];
    case "invalid_union": {
      // The branch that got furthest is the one that was meant.
      const branches = issue.errors.map((issues) => issues.flatMap((inner) => shapeFaults(inner, keys)));
      const furthest = branches.toSorted((a, b) => depth(b) - depth(a))[0];
      if (furthest !== undefined && depth(furthest) > path.length) return furthest;
      if (issue.input === undefined) return [missing(path)];
      return issue.discriminator === undefined
        ? [{ code: "invalid_type", path, problem: `Invalid type for '${path}'.` }]
        : [{ code: "invalid_value", path, problem: `Invalid value for '${path}'.` }];
    }
    default:
      return [{ code: "invalid_value", path, problem: `Invalid '${path}': ${issue.message}` }];
  }
}

const missing = (path: string): ShapeFault => ({
  code: "missing_required_parameter",
  path,
  problem: `Missing required parameter: '${path}'.`,
});

const depth = (faults: readonly Fault[]): number => Math.max(0, ...faults.map(({ path }) => path.length));
