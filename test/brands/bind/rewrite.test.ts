import { describe, expect, test } from 'vitest';
import { applyEdits, differencesAfter } from '../../../src/brands/rewrite.ts';
import { adoptionOf, OWN } from '../../harness/adoption.ts';
import { SECRET } from '../../harness/samples.ts';

function edited(text: string, left?: readonly string[]): string {
  const { edits, differences } = adoptionOf(text, left);
  expect(differences()).toEqual([]);
  return applyEdits(text, edits);
}

const key = (name: string) => `key "${name}" { algorithm hmac-sha256; secret "${SECRET}"; };\n`;
const INCLUDE = `include "${OWN}";\n`;
const LISTS = (right: string, zone: string) => `"tsigil-${right}"; "tsigil-${right}-${zone}";`;

describe('the edits for an adoption', () => {
  test('compare a zone of two views in each of them', () => {
    const text = `${key('k1')}
view "inside" { match-clients { 10.0.0.0/8; }; zone "a.test" { type primary; allow-transfer { key k1; }; }; };
view "outside" { zone "a.test" { type primary; allow-transfer { 192.0.2.1; }; }; };
`;
    const { differences } = adoptionOf(text, []);
    expect(differences()).toEqual([]);
  });

  test('take keys out of zones, keep addresses, and include the file where the first key was', () => {
    expect(
      edited(`# Keys
${key('k1')}${key('k2')}
zone "a.test" {
  type primary; // no file
  allow-transfer { key k1; 192.0.2.1; key "K2."; };
  allow-update { key k2; };
};
`),
    ).toBe(`# Keys
${INCLUDE}
zone "a.test" {
  type primary; // no file
  allow-transfer { ${LISTS('transfer', 'a.test')} 192.0.2.1; };
  allow-update { ${LISTS('update', 'a.test')} };
};
`);
  });

  test('give a zone its own list instead of that of the options', () => {
    expect(
      edited(`${key('k1')}options { allow-transfer { key k1; 192.0.2.1; }; };
zone "a.test" { type primary; };
zone "b.test" {
    type primary;
    file "b"; # the data
};
`),
    ).toBe(`${INCLUDE}options { allow-transfer { 192.0.2.1; }; };
zone "a.test" { type primary; allow-transfer { ${LISTS('transfer', 'a.test')} 192.0.2.1; }; };
zone "b.test" {
    type primary;
    file "b"; # the data
    allow-transfer { ${LISTS('transfer', 'b.test')} 192.0.2.1; };
};
`);
  });

  test('take keys out of a named list only if every use of it moves', () => {
    const text = `${key('k1')}${key('k2')}acl both { key k1; key k2; };
acl one {
  key k1;
};
options { allow-query { both; any; }; };
zone "a.test" { type primary; allow-transfer { one; both; }; };
`;
    expect(edited(text)).toBe(`${INCLUDE}acl both { key k1; key k2; };
acl one { none;
};
options { allow-query { both; any; }; };
zone "a.test" { type primary; allow-transfer { ${LISTS('transfer', 'a.test')} one; }; };
`);
  });

  test('leave keys that no grant can express, update-policy, and keys that do not move', () => {
    const text = `${key('k1')}${key('k2')}${key('k3')}
zone "a.test" {
  type primary;
  allow-transfer { !{ !192.0.2.0/24; any; }; key k1; };
  update-policy { grant k1 zonesub ANY; };
};
zone "b.test" { type primary; allow-transfer { !192.0.2.9; key k2; key k3; }; };
zone "c.test" { type primary; allow-transfer { key k2; key k3; }; };
primaries p { 192.0.2.1 key k1; };
`;
    expect(edited(text, ['k3'])).toBe(`${INCLUDE}${key('k3')}
zone "a.test" {
  type primary;
  allow-transfer { !{ !192.0.2.0/24; any; }; key k1; };
  update-policy { grant k1 zonesub ANY; };
};
zone "b.test" { type primary; allow-transfer { !192.0.2.9; key k2; key k3; }; };
zone "c.test" { type primary; allow-transfer { ${LISTS('transfer', 'c.test')} key k3; }; };
primaries p { 192.0.2.1 key k1; };
`);
  });

  test('are refused if the file gives a key another right, or another secret', () => {
    const text = `${key('k1')}${key('k2')}zone "a.test" { type primary; allow-transfer { key k1; }; };\n`;
    const { source, edits, own } = adoptionOf(text);
    const wider = { ...own, text: own.text.replace('{ key "k1"; }', '{ key "k1"; key "k2"; }') };
    expect(differencesAfter('bind', source, edits, wider)).toEqual([
      "the key 'k2' would gain transfer of a.test",
    ]);
    const narrower = { ...own, text: own.text.replace('{ key "k1"; }', '{ none; }') };
    expect(differencesAfter('bind', source, edits, narrower)).toEqual([
      "the key 'k1' would lose transfer of a.test",
    ]);
    const other = { ...own, text: own.text.replace(SECRET, `A${SECRET.slice(1)}`) };
    expect(differencesAfter('bind', source, edits, other)).toEqual([
      "The key 'k1' (named.conf:1) would get another secret or algorithm",
    ]);
    expect(differencesAfter('bind', source, edits.slice(0, 1), own)).not.toEqual([]);
  });
});
