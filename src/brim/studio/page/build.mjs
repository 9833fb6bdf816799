// Builds the page into ../static: one script, one style sheet, the page and its icon. Nothing is fetched from elsewhere
// when it runs.
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";

const out = "../static";
await mkdir(out, { recursive: true });
await build({
  entryPoints: [{ in: "src/main.tsx", out: "studio" }, { in: "src/style.css", out: "studio" }],
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "eof",
  logLevel: "warning",
});
for (const name of ["index.html", "icon.svg"]) await copyFile(name, `${out}/${name}`);
