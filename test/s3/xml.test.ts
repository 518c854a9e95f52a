import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseXml, type XmlElement } from "../../src/storage/objects/s3/xml.js";

const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.:-]{0,8}$/);
/** Characters of XML 1.0, and those that have to be escaped often. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom("<", ">", "&", '"', "'", " ", "\n", "]]>", "é", "😀"),
      fc.string({ unit: "grapheme" }),
    ),
    {
      maxLength: 6,
    },
  )
  .map((parts) => parts.join(""));

const { element } = fc.letrec<{ element: XmlElement }>((tie) => ({
  element: fc.oneof(
    { depthSize: "small", maxDepth: 6 },
    fc.record({ name, text, children: fc.constant([]) }),
    fc.record({
      name,
      text: fc.constant(""),
      children: fc.array(tie("element"), { minLength: 1, maxLength: 4 }),
    }),
  ),
}));

/** Prints an element in one of the spellings that servers use. */
function print({ name: tag, text: content, children }: XmlElement, style: number): string {
  const attribute = style % 3 === 0 ? ` xmlns="http://s3.amazonaws.com/doc/2006-03-01/" a:b = '"'` : "";
  if (content === "" && children.length === 0 && style % 2 === 0) return `<${tag}${attribute}/>`;
  const space = children.length > 0 && style % 5 === 0 ? "\n  " : "";
  const inner = children.map((child) => space + print(child, style >> 1)).join("");
  return `<${tag}${attribute}>${escaped(content, style)}${inner}${space}</${tag}>`;
}

function escaped(content: string, style: number): string {
  return [...content]
    .map((character) => {
      const point = character.codePointAt(0) as number;
      if (character === "<") return style % 2 === 0 ? "&lt;" : "&#60;";
      if (character === "&") return style % 2 === 0 ? "&amp;" : "&#x26;";
      if (character === '"' && style % 3 === 0) return "&quot;";
      return point > 127 && style % 7 === 0 ? `&#x${point.toString(16)};` : character;
    })
    .join("");
}

describe("parseXml", () => {
  test("gives back the element that was printed, in any spelling", () => {
    fc.assert(
      fc.property(element, fc.nat(1000), (tree, style) => {
        const declaration = style % 2 === 0 ? '<?xml version="1.0" encoding="UTF-8"?>\n' : "  \n";
        expect(parseXml(declaration + print(tree, style))).toEqual(tree);
      }),
    );
  });

  test("never throws, and refuses a document that is cut off", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (source) => void parseXml(source)));
    fc.assert(
      fc.property(element, fc.nat(1000), fc.nat(), (tree, style, at) => {
        const whole = print(tree, style);
        expect(parseXml(whole.slice(0, at % whole.length))).toBeUndefined();
      }),
    );
  });

  test.each([
    ["text alone", "abc"],
    ["two roots", "<a/><b/>"],
    ["text behind the root", "<a/>x"],
    ["text beside elements", "<a>x<b/></a>"],
    ["another end", "<a><b></a></b>"],
    ["a document type", "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>"],
    ["an unknown entity", "<a>&nbsp;</a>"],
    ["a bare ampersand", "<a>a & b</a>"],
    ["a reference to no character", "<a>&#xD800;</a>"],
    ["a reference beyond Unicode", "<a>&#x110000;</a>"],
    ["a reference to NUL", "<a>&#0;</a>"],
    ["a comment", "<a><!-- x --></a>"],
    ["a CDATA section", "<a><![CDATA[x]]></a>"],
    ["a processing instruction", "<a><?x?></a>"],
    ["an attribute without quotes", "<a b=c/>"],
    ["nine levels", `${"<a>".repeat(9)}${"</a>".repeat(9)}`],
    ["nothing", ""],
  ])("refuses %s", (_, source) => {
    expect(parseXml(source)).toBeUndefined();
  });

  test("takes eight levels", () => {
    expect(parseXml(`${"<a>".repeat(8)}${"</a>".repeat(8)}`)?.name).toBe("a");
  });
});
