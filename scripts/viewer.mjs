// The viewer's application as one HTML file without a session, dist/viewer/app.html, the list of all sessions,
// dist/viewer/list.html, and the module `sessile/viewer`, dist/viewer.js, which needs no other file and no bundler. `npm run build` runs it.
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "tsup";
import { root } from "./entries.mjs";

const source = join(root, "src", "viewer", "app");

/**
 * The application is compressed, because it holds the library with its targets: half the size. The first
 * script decompresses it and adds it as an inline script, which the policy allows by its hash. A Blob would make it wait
 * for the storage of the browser. Its bytes are digits to base 85, which are 6 % fewer than to base 64.
 */
const start = `"use strict";(async()=>{const c=document.getElementById("app-code").textContent,
n=c.length-1,v=new DataView(new ArrayBuffer(n/5*4));
for(let i=1;i<n;i+=5){let s=0;for(let j=i;j<i+5;j++){const x=c.charCodeAt(j);s=s*85+(x>124?60:x)-40}
v.setUint32((i-1)/5*4,s)}
const d=new DecompressionStream("gzip"),w=d.writable.getWriter(),r=new Response(d.readable).text();
w.write(new Uint8Array(v.buffer,0,n/5*4-c[0]));w.close();const t=await r;
const s=document.createElement("script");
s.text=globalThis.trustedTypes?trustedTypes.createPolicy("sessile",{createScript:()=>t}).createScript(""):t;
document.body.append(s)})()`;

/** Builds the application. @returns {Promise<string>} the text of the file */
export async function buildViewer() {
  const [code, style] = await Promise.all([
    bundle("app", join(source, "main.tsx"), "iife"),
    buildStyle("style.css"),
  ]);
  return page(code, style, "'none'");
}

/** Builds the list of all sessions, which asks its own server. @returns {Promise<string>} the text of the file */
export async function buildList() {
  const [code, style] = await Promise.all([
    bundle("list", join(source, "list.tsx"), "iife"),
    buildStyle("list.css"),
  ]);
  return page(code, style, "'self'").replace("<!--session-data-->\n", "");
}

/** Builds the module `sessile/viewer`, with its style. @returns {Promise<string>} the text of the file */
export async function buildViewerModule() {
  const viewerStyle = JSON.stringify(await buildStyle("rows.css"));
  const text = await bundle("index", join(root, "src", "viewer", "index.ts"), "esm", { viewerStyle });
  // publint sees an export only behind a semicolon or a space.
  return text.replace(/export\{[^{}]*\};?\s*$/, "\n$&");
}

/** @param {string} name */
function buildStyle(name) {
  return bundle("style", join(source, name), "esm");
}

/**
 * @param {string} name
 * @param {string} path
 * @param {"iife" | "esm"} format
 * @param {Record<string, string>} [define]
 */
async function bundle(name, path, format, define = {}) {
  const outDir = await mkdtemp(join(tmpdir(), "sessile-viewer-"));
  try {
    await build({
      config: false,
      silent: true,
      entry: { [name]: path },
      outDir,
      format,
      platform: "browser",
      target: "es2023",
      minify: true,
      noExternal: [/./],
      splitting: false,
      define: { "process.env.NODE_ENV": '"production"', ...define },
      esbuildOptions(options) {
        options.jsx = "automatic";
        options.jsxImportSource = "preact";
        options.legalComments = "none";
        options.charset = "utf8";
      },
    });
    const [file = ""] = await readdir(outDir);
    return (await readFile(join(outDir, file), "utf8")).trim();
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
}

/** @param {string} code @param {string} style @param {string} connect the origins of requests */
function page(code, style, connect) {
  const policy = [
    "default-src 'none'",
    `script-src '${hash(start)}' '${hash(code)}'`,
    `style-src '${hash(style)}'`,
    "img-src data: blob:",
    `connect-src ${connect}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types sessile",
  ].join("; ");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<meta http-equiv="x-dns-prefetch-control" content="off">
<meta name="color-scheme" content="light dark">
<title>Sessions</title>
<style>${style}</style>
</head>
<body>
<div id="app"><p class="opening">Opening the session…</p></div>
<noscript>This page shows the session with a script of its own, which needs JavaScript.</noscript>
<!--session-data-->
<script type="application/octet-stream" id="app-code">${base85(gzipSync(code, { level: 9 }))}</script>
<script>${start}</script>
</body>
</html>
`;
}

/**
 * Four bytes as five digits, from `(` to `|`, with `}` for `<`, which could end the element. The first character is
 * the number of bytes that fill the last four.
 *
 * @param {Buffer} bytes
 */
function base85(bytes) {
  const fill = (4 - (bytes.length % 4)) % 4;
  const whole = Buffer.concat([bytes, Buffer.alloc(fill)]);
  let text = String(fill);
  for (let at = 0; at < whole.length; at += 4) {
    const value = whole.readUInt32BE(at);
    for (const unit of [85 ** 4, 85 ** 3, 85 ** 2, 85, 1]) {
      const digit = 40 + (Math.floor(value / unit) % 85);
      text += digit === 60 ? "}" : String.fromCharCode(digit);
    }
  }
  return text;
}

/** @param {string} text */
function hash(text) {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const dir = join(root, "dist", "viewer");
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, "app.html"), await buildViewer());
  await writeFile(join(dir, "list.html"), await buildList());
  await writeFile(`${dir}.js`, await buildViewerModule());
}
