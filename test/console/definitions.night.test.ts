import { expect, test } from 'vitest';
import { resourceDefinitions } from '../../src/resources/describe-resource.ts';
import { consolePages, hasChromium } from '../harness/chromium.ts';
import { createKey } from '../harness/delivery.ts';
import { startTestService } from '../harness/service.ts';

const FIELD = {
  name: 'colour',
  label: 'Colour',
  kind: 'enumeration',
  description: 'The colour of the key.',
  required: false,
  choices: [{ value: 'red' }, { value: 'green' }],
  set: 'always',
  nullable: true,
};

/** A member of every key that no definition has. */
const LINKS = {
  name: 'links',
  label: 'Links',
  kind: 'map',
  description: 'The addresses of the key.',
  required: false,
  set: 'never',
};

const { start, enter } = consolePages();

test.skipIf(!hasChromium())(
  'a field that is added to a definition is in the filters, the columns, the form and the page of a key',
  async () => {
    const { tsigkeys } = resourceDefinitions();
    if (tsigkeys === undefined) throw new Error('There is no definition');
    // The service describes its resources once, and sends this description with each session.
    const { fields, filters } = tsigkeys as unknown as { fields: object[]; filters: string[] };
    fields.push(FIELD, LINKS);
    filters.push(FIELD.name);
    try {
      const service = await startTestService();
      const { id } = await createKey(service, 'described.example');
      await start(service);
      const { page, open } = await enter('keys');
      await page.getByRole('link', { name: 'described.example' }).waitFor();

      const colours = page.getByLabel('Colour', { exact: true }).first();
      expect(await colours.locator('option').allTextContents()).toEqual(['Any', 'red', 'green']);

      await page.getByRole('columnheader', { name: 'Colour' }).waitFor();

      await page.getByRole('button', { name: 'New key' }).first().click();
      const form = page.getByRole('dialog', { name: 'New key' });
      await form.getByRole('radio', { name: 'green' }).check();
      await form.getByText(FIELD.description).waitFor();
      expect(await form.getByText(LINKS.label).count()).toBe(0);

      await open(`keys/${id}`);
      await page.getByRole('term').filter({ hasText: LINKS.label }).waitFor();
      await page
        .getByRole('definition')
        .filter({ hasText: `v2/tsigkeys/${id}` })
        .waitFor();
    } finally {
      fields.splice(-2);
      filters.pop();
    }
  },
);
