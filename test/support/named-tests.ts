/** A test that a document names: `` `test/path.test.ts` › title ``, several parted by `<br>`; a conformance case is in `src`. */
interface NamedTest {
  readonly path: string;
  readonly title: string;
}

/** How the check reads the repository; paths are relative to its root. */
interface Sources {
  exists(path: string): boolean;
  read(path: string): string;
}

function namedTests(markdown: string): readonly NamedTest[] {
  return markdown
    .split(/\n|<br>|(?<!\\)\|/)
    .map((part) => /^\s*`((?:test|src)\/[^`]+)` › (.+?)\s*$/.exec(part))
    .flatMap((match) => (match?.[1] && match[2] ? [{ path: match[1], title: match[2] }] : []));
}

/**
 * What is wrong with the tests that a document names: one sentence each, none if nothing is. A title is the beginning of a
 * literal in the file, since some end with a number that is known when they run.
 */
export function checkNamedTests(markdown: string, sources: Sources): readonly string[] {
  const marks = markdown.split("› ").length - 1;
  const tests = namedTests(markdown);
  const unreadable = marks - tests.length;
  return [
    ...(unreadable === 0 ? [] : [`${unreadable} references to tests cannot be read`]),
    ...tests.flatMap(({ path, title }) => {
      if (!sources.exists(path)) return [`${path} does not exist`];
      const text = sources.read(path);
      return ['"', "`", "'"].some((quote) => text.includes(quote + title))
        ? []
        : [`${path} has no test "${title}"`];
    }),
  ];
}
