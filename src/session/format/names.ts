import { encodeUtf8 } from "../../internal/bytes.js";
import { crc32 } from "../../internal/crc32.js";
import { hex8 } from "../../internal/hex.js";

/** The title of a fork: numbered on from the title's own number. */
export function forkTitle(title: string): string {
  const numbered = /^(.*) \(fork #(\d{1,9})\)$/s.exec(title);
  return numbered === null ? `${title} (fork #1)` : `${numbered[1]} (fork #${Number(numbered[2]) + 1})`;
}

const adjectives =
  "amber bold brave brief bright brisk calm clear clever cosy crisp curious daring dawn deep eager early fair fancy fleet fresh gentle glad golden grand green happy hardy hidden honest humble jolly keen kind lively loyal lucky mellow merry mild misty neat nimble noble proud quick quiet ready rosy royal sandy shiny silent silver smart snowy solid steady sunny swift tidy vivid warm witty".split(
    " ",
  );
const nouns =
  "acorn anchor arrow badger beacon birch bridge brook canyon cedar comet coral crane creek delta dune eagle ember falcon fern field finch forest fox garden glacier harbor hawk heron hill island jasper lake lantern lark lotus maple marsh meadow moon moss nebula oak ocean orchid otter owl panda pebble pine planet pond raven reef river robin sparrow star stone thistle tiger valley willow wolf".split(
    " ",
  );

/**
 * The short name of a session that was given none, such as `brisk-otter-3f2a`: made of its id, so that it is there
 * from the start and stays. Of a million sessions some thousand pairs share one: it is for people, not a key.
 */
export function slugOf(sessionId: string): string {
  const hash = crc32(encodeUtf8(sessionId));
  const word = (words: readonly string[], shift: number) => words[(hash >>> shift) & 63] as string;
  return `${word(adjectives, 26)}-${word(nouns, 20)}-${hex8(hash & 0xffff).slice(4)}`;
}
