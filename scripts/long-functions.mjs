// Lists the functions that do not fit on a screen. A named function inside another one counts for
// itself.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const MAX_LINES = 80;

/** Functions that may be longer, as `file name`, each with the reason. */
const EXCEPTIONS = new Map([
  ['src/sql/migrations/0018-schema.ts resources', 'The statements of the schema are a table.'],
  ['src/sql/migrations/0018-schema.ts delivery', 'The statements of the schema are a table.'],
]);

const FOLDERS = ['src', 'bench', 'test/harness'];

function longFunctionsOf(file) {
  const source = ts.createSourceFile(
    file,
    readFileSync(file, 'utf8'),
    ts.ScriptTarget.Latest,
    true,
  );
  const lineOf = (position) => source.getLineAndCharacterOfPosition(position).line + 1;
  const long = [];
  /** Returns the lines of the named functions in `node`, which its function does not count. */
  const visit = (node, isInside) => {
    const { name } = ts.isFunctionLike(node) && !node.name ? node.parent : node;
    const isCounted = ts.isFunctionLike(node) && node.body && (name !== undefined || !isInside);
    let inner = 0;
    ts.forEachChild(node, (child) => {
      inner += visit(child, isInside || isCounted);
    });
    if (!isCounted) return inner;
    const line = lineOf(node.getStart());
    const all = lineOf(node.end) - line + 1;
    if (all - inner > MAX_LINES)
      long.push({ file, line, name: name?.getText() ?? '(anonymous)', lines: all - inner });
    return all;
  };
  visit(source, false);
  return long;
}

const files = FOLDERS.flatMap((folder) =>
  readdirSync(folder, { recursive: true }).map((path) => join(folder, path)),
).filter((path) => /\.(?:ts|tsx|mjs)$/.test(path));
const long = files
  .flatMap(longFunctionsOf)
  .filter(({ file, name }) => !EXCEPTIONS.has(`${file} ${name}`));
for (const { file, line, name, lines } of long.toSorted((one, other) => other.lines - one.lines))
  process.stderr.write(`${file}:${line}: ${name} has ${lines} lines\n`);
if (long.length > 0) process.exit(1);
