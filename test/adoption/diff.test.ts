import { expect, test } from 'vitest';
import { unifiedDiff, withoutSecrets } from '../../src/adoption/commands/diff.ts';

const SECRET = 'dG9wIHNlY3JldCBrZXk=';

test.each([
  ['quoted', `secret "${SECRET}";`],
  ['without quotes', `secret ${SECRET};`],
  ['without a blank', `secret"${SECRET}";`],
  ['with blanks in it', `secret "${SECRET.slice(0, 6)} ${SECRET.slice(6)}";`],
  ['behind a comment', `secret /* of "ns1" */ "${SECRET}";`],
  ['on a further line', `secret # next line\n\t"${SECRET}";`],
  ['of Knot DNS', `  secret: ${SECRET}`],
  ['of Knot DNS in single quotes', `  secret: '${SECRET}'`],
  ['of NSD', `\tsecret:"${SECRET}"`],
  ['in upper case', `SECRET "${SECRET}";`],
])('hides a secret %s', (_case, text) => {
  const [start, end] = [SECRET.slice(0, 6), SECRET.slice(6)];
  for (const shown of [
    withoutSecrets(text),
    unifiedDiff('named.conf', `${text}\n};\nend\n`, [
      { file: 'named.conf', start: text.length + 1, end: text.length + 3, text: '} ;' },
    ]),
    unifiedDiff('named.conf', `${text}\n`, [
      { file: 'named.conf', start: 0, end: text.length, text: '' },
    ]),
  ]) {
    expect(shown).toContain('...');
    expect(shown).not.toContain(start);
    expect(shown).not.toContain(end);
  }
});

test('shows removed, added and near lines as they are', () => {
  const text = 'one\ntwo\nthree\nfour\nfive\nsix\n';
  const start = text.indexOf('three');
  const edit = { file: 'named.conf', start, end: start + 'three'.length, text: 'drei' };
  expect(unifiedDiff('named.conf', text, [edit])).toBe(
    ['--- named.conf', '+++ named.conf', '@@ -1,6 +1,6 @@', ' one', ' two', '-three', '+drei']
      .concat([' four', ' five', ' six', ''])
      .join('\n'),
  );
});
