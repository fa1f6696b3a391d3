import type { ComponentChildren } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import type { FieldDefinition } from '../resources.ts';
import { forgetName } from '../names.ts';
import { open, pageOf } from '../router.ts';
import { request, send } from '../requests.ts';
import { definitionOf, wordOf } from '../session.ts';
import { Dialog } from './dialog.tsx';
import { Form, type FormProps, type Values } from './form.tsx';
import { asking, type Act } from './acts.tsx';
import { capitalised, Name, PAGES, type Named } from './text.tsx';
import { showToast } from './toasts.tsx';

/** How a form shows the fields of a definition. */
interface Arrangement {
  /** The fields that stand first. */
  readonly order?: readonly string[];
  /** What the form says in the place of the definition. */
  readonly words?: Readonly<Record<string, Partial<FieldDefinition>>>;
  readonly without?: readonly string[];
}

interface DialogProps extends Arrangement, Pick<FormProps, 'collection' | 'controls' | 'closed'> {
  onClose(): void;
}

/** Returns the fields that a person can set in a new resource, or in one that exists. */
export function useFields(collection: string, isNew: boolean, arrangement: Arrangement) {
  const definition = definitionOf(collection);
  return useMemo(() => {
    const { order = [], words = {}, without = [] } = arrangement;
    const place = ({ name }: FieldDefinition) =>
      order.includes(name) ? order.indexOf(name) : order.length;
    return (definition?.fields ?? [])
      .filter(({ set }) => (isNew ? set !== 'never' : set === 'always'))
      .filter(({ name }) => !without.includes(name))
      .map((field) => Object.assign({}, field, words[field.name]))
      .sort((one, other) => place(one) - place(other));
  }, [definition]);
}

/** The response to a creation. */
export type Created = Values & { readonly id: string };

interface CreateProps extends DialogProps {
  /** The values that the form begins with. */
  readonly values?: Values;
  onCreated(created: Created): void;
}

/** The dialog for a new resource. */
export function CreateResource({ onClose, onCreated, ...props }: CreateProps) {
  const { collection, values = {} } = props;
  const word = wordOf(collection);
  return (
    <Dialog title={`New ${word}`} onClose={onClose}>
      <Form
        {...props}
        action={`Create ${word}`}
        values={values}
        fields={useFields(collection, true, props)}
        submit={async (body) => onCreated(await send<Created>(`v2/${collection}`, 'POST', body))}
        onCancel={onClose}
      />
    </Dialog>
  );
}

interface Changeable {
  readonly id: string;
  readonly updated_at?: string | null;
}

interface EditProps extends DialogProps {
  readonly resource: Changeable;
  /** The parameters of the requests, with their question mark. */
  readonly parameters?: string;
}

/** The dialog that changes a resource: only what was changed, and only if nobody else did. */
export function EditResource({ resource, parameters = '', onClose, ...props }: EditProps) {
  const { collection } = props;
  const fields = useFields(collection, false, props);
  const before = useRef(resource).current;
  const known = before as unknown as Values;
  const submit = async (given: Values) => {
    const changes = Object.entries(given).filter(
      ([name, value]) =>
        value !== undefined && JSON.stringify(value) !== JSON.stringify(known[name]),
    );
    if (changes.length > 0) {
      const path = `v2/${collection}/${before.id}${parameters}`;
      const { body, headers } = await request<Changeable>(path);
      const tag = body.updated_at === before.updated_at ? headers.get('ETag') : null;
      await request(path, {
        method: 'PATCH',
        body: Object.fromEntries(changes),
        headers: { 'If-Match': tag ?? '"changed"' },
      });
      forgetName(collection, before.id);
      showToast('Saved');
    }
    onClose();
  };
  return (
    <Dialog title={`Edit ${wordOf(collection)}`} onClose={onClose}>
      <Form
        {...props}
        action="Save changes"
        values={Object.fromEntries(fields.map(({ name }) => [name, known[name]]))}
        fields={fields}
        submit={submit}
        onCancel={onClose}
      />
    </Dialog>
  );
}

/** Returns the act that changes a resource. */
export function editing(props: Omit<EditProps, 'onClose'>): Act {
  return {
    label: 'Edit',
    right: `${props.collection}:update`,
    dialog: (onClose) => <EditResource {...props} onClose={onClose} />,
  };
}

/** Returns the act that deletes a resource, after `text` said what follows. */
export function deleting(
  collection: string,
  { id, name }: Named,
  options: { isTyped: boolean; text: ComponentChildren; parameters?: string },
): Act {
  const { isTyped, text, parameters = '' } = options;
  const word = wordOf(collection);
  return asking('Delete…', `${collection}:delete`, {
    title: (
      <>
        Delete <Name text={name} />?
      </>
    ),
    action: `Delete ${word}`,
    text,
    path: `v2/${collection}/${id}${parameters}`,
    method: 'DELETE',
    typed: isTyped ? name : undefined,
    done: `${capitalised(word)} deleted`,
    after: () => open(pageOf(PAGES[collection] ?? '')),
  });
}
