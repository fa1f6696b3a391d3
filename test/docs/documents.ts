import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The root folder of the checkout. */
export const ROOT = join(import.meta.dirname, '../..');

/** A document of the project. The path is relative to the root. */
export interface Document {
  readonly path: string;
  readonly text: string;
}

/** A fenced block of a document. */
export interface Block {
  readonly language: string;
  readonly content: string;
}

/** A command of a `console` block, with the expected output. */
export interface Example {
  readonly command: string;
  readonly expected: string;
}

/** Returns every document of the project: the Markdown files in the root folder and below docs. */
export function readDocuments(): Document[] {
  const atRoot = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
  const below = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name));
  return [...atRoot, ...below].map((path) => ({
    path,
    text: readFileSync(join(ROOT, path), 'utf8'),
  }));
}

/** Returns the fenced blocks of a document, in order. Throws if a fence is not closed. */
export function blocksOf({ path, text }: Document): Block[] {
  const fences = text.match(/^```/gm) ?? [];
  if (fences.length % 2 !== 0) throw new Error(`${path} has a fence that is not closed`);
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language = '', content = '']) => ({
    language,
    content,
  }));
}

/** Returns a document's text without its fenced blocks. */
export function proseOf({ text }: Document): string {
  return text.replaceAll(/^```\w*\n.*?^```$/gms, '');
}

/**
 * Returns the commands of a document's `console` blocks. A command begins with `$ `. Lines after a
 * backslash and lines that begin with `> ` continue the command.
 */
export function examplesOf(document: Document): Example[] {
  return blocksOf(document)
    .filter(({ language }) => language === 'console')
    .flatMap(({ content }) => {
      if (!content.startsWith('$ '))
        throw new Error(`${document.path} has a console block that does not begin with a command`);
      return content
        .split(/^\$ /m)
        .slice(1)
        .map((text) => {
          const [, command = '', expected = ''] =
            /^((?:[^\n]*\\\n)*[^\n]*(?:\n> [^\n]*)*)\n?(.*)$/s.exec(text) ?? [];
          return { command: command.replaceAll(/^> /gm, ''), expected: expected.trimEnd() };
        });
    });
}
