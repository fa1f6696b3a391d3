import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { shellCommand, shellWord } from '../../../src/core/text/shell-word.ts';

test.each([
  'bad name',
  'q"; };',
  "it's",
  '$HOME',
  '`id`',
  '\\052.example',
  '*',
  '~',
  '#a',
  '',
  'ü',
])('a shell reads %j as one word', (text) => {
  expect(execFileSync('sh', ['-c', `printf %s. ${shellWord(text)}`]).toString()).toBe(`${text}.`);
});

test.each(['transfer.example', '0/25.2.0.192.in-addr.arpa', 'ns-1_a', 'a@b:1'])(
  '%s needs no quotes',
  (text) => {
    expect(shellWord(text)).toBe(text);
  },
);

test.each([
  ['a key', '--right update', "tsigil tsigkey grants 'a key' --right update"],
  ['k', '', 'tsigil tsigkey grants k'],
  ['-k', '', 'tsigil tsigkey grants -- -k'],
  ['--none', '--right update', 'tsigil tsigkey grants --right update -- --none'],
])('a command about %j with the flags %j', (name, flags, command) => {
  expect(shellCommand('tsigil tsigkey grants', name, flags)).toBe(command);
});
