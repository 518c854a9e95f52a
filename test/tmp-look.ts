import { readFileSync } from "node:fs";
import { encodeEntry, parseSession } from "../src/session/index.js";
for (const f of process.argv.slice(2)) {
  const p = parseSession(Uint8Array.from(readFileSync(f)));
  console.log(f, p.diagnostics.map((d) => `${d.code}@${d.line} ${d.message}`));
  const lines: string[] = [];
  for (const e of p.entries) { try { lines.push(encodeEntry(e)); } catch (x) { console.log("!", e.id, String(x)); } }
  const again = parseSession(`{"type":"session","version":3,"id":"again","timestamp":"t","cwd":"/"}\n${lines.join("\n")}\n`);
  for (const l of lines) { const n = parseSession(`{"type":"session","version":3,"id":"again","timestamp":"t","cwd":"/"}\n${l}\n`); if (n.entries.length!==1) console.log("LOST", n.diagnostics, l.slice(0,600)); }
  console.log(again.diagnostics.map((d) => `${d.code}@${d.line} ${d.message}`));
}
