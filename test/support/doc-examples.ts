/** A code example in a doc comment or in Markdown, and where it begins. */
export interface DocExample {
  /** `path:line`. */
  readonly place: string;
  readonly code: string;
}

/** The ts examples of a text: those behind `@example` in doc comments, or every ts fence of a Markdown file. */
export function examplesOf(path: string, text: string): readonly DocExample[] {
  const examples: DocExample[] = [];
  const lines = text.split("\n");
  let code: string[] | undefined;
  let start = 0;
  lines.forEach((line, index) => {
    const bare = path.endsWith(".md") ? line : line.replace(/^\s*\* ?/, "");
    if (code === undefined && bare.trim() === "```ts") {
      code = [];
      start = index + 1;
    } else if (code !== undefined && bare.trim() === "```") {
      examples.push({ place: `${path}:${start}`, code: code.join("\n") });
      code = undefined;
    } else {
      code?.push(bare);
    }
  });
  return examples;
}

/** An expression of an example, and the value that its comment promises, both as source. */
export interface Promised {
  readonly expression: string;
  readonly value: string;
}

/** Lines of the form `expression; // value`, where the value is a literal. Multi-line expressions end with such a line. */
export function promisesOf(code: string): readonly Promised[] {
  const promises: Promised[] = [];
  const statements = code.split(/(?<=;.*)\n/);
  for (const statement of statements) {
    const [, expression, value] =
      /^([^;]*);\s*(?:\/\/\s*|\n\/\/\s*)("[^"]*"|\d+|true|false|undefined|\[.*\])$/s.exec(statement.trim()) ??
      [];
    if (
      expression !== undefined &&
      value !== undefined &&
      !/^\s*(const|let|await|import|for)\b/.test(expression)
    ) {
      promises.push({ expression, value });
    }
  }
  return promises;
}
