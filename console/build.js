// The editor and the licences of its packages, beside the other files of the pages: node build.js FOLDER
import { readFile, readdir, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const folder = process.argv[2];
const made = await build({
  entryPoints: ["editor.js"],
  outfile: `${folder}/editor.js`,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  metafile: true,
});
const packages = new Set();
for (const path of Object.keys(made.metafile.inputs)) {
  const found = path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (found) packages.add(found[1]);
}
const parts = [];
for (const name of [...packages].sort()) {
  const about = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
  const file = (await readdir(`node_modules/${name}`)).find((each) => /^licen[cs]e/i.test(each));
  if (!file) throw new Error(`${name} has no licence file`);
  const text = await readFile(`node_modules/${name}/${file}`, "utf8");
  parts.push(`${name} ${about.version} (${about.license})\n\n${text.trim()}\n`);
}
await writeFile(`${folder}/editor.licences.txt`, parts.join(`\n${"-".repeat(80)}\n\n`));
