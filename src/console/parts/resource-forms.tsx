import { useMemo, useRef } from 'preact/hooks';
import type { FieldDefinition } from '../definitions.ts';
import { request } from '../requests.ts';
import { definitionOf } from '../session.ts';
import { Dialog } from './dialog.tsx';
import { Form, type FormProps, type Values } from './form.tsx';

interface FormDialogProps
  extends Arrangement, Partial<Pick<FormProps, 'controls' | 'closed' | 'children'>> {
  readonly collection: string;
  readonly title: string;
  /** The label of the button that sends the form. */
  readonly action: string;
  onClose(): void;
}

/** How a form shows the fields of a definition. */
interface Arrangement {
  /** The fields that stand first. */
  readonly order?: readonly string[];
  /** What the form says in the place of the definition. */
  readonly words?: Readonly<Record<string, Partial<FieldDefinition>>>;
  readonly without?: readonly string[];
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

interface Changeable {
  readonly id: string;
  readonly updated_at?: string | null;
}

/** The dialog for a new resource. */
export function CreateResource(
  props: FormDialogProps & {
    /** The values that the form begins with. */
    readonly values?: Values;
    onCreated(created: Created): void;
  },
) {
  const { collection, values = {}, onCreated } = props;
  const submit = async (given: Values) => {
    const { body } = await request<Created>(`v2/${collection}`, { method: 'POST', body: given });
    onCreated(body);
  };
  return <FormDialog {...props} isNew values={values} submit={submit} />;
}

/** The dialog that changes a resource: only what was changed, and only if nobody else did. */
export function EditResource(
  props: FormDialogProps & {
    readonly resource: Changeable;
    /** The parameters of the requests, with their question mark. */
    readonly parameters?: string;
    onSaved(): void;
  },
) {
  const { collection, parameters = '', onClose, onSaved } = props;
  const before = useRef(props.resource).current;
  const values = before as unknown as Values;
  const submit = async (given: Values) => {
    const changes = Object.fromEntries(
      Object.entries(given).filter(
        ([name, value]) =>
          value !== undefined && JSON.stringify(value) !== JSON.stringify(values[name]),
      ),
    );
    if (Object.keys(changes).length === 0) {
      onClose();
      return;
    }
    const path = `v2/${collection}/${before.id}${parameters}`;
    const { body, headers } = await request<Changeable>(path);
    const tag = body.updated_at === before.updated_at ? headers.get('ETag') : null;
    await request(path, {
      method: 'PATCH',
      body: changes,
      headers: { 'If-Match': tag ?? '"changed"' },
    });
    onSaved();
  };
  return <FormDialog {...props} isNew={false} values={values} submit={submit} />;
}

function FormDialog(
  props: FormDialogProps & {
    readonly isNew: boolean;
    readonly values: Values;
    submit(values: Values): Promise<void>;
  },
) {
  const { collection, title, action, isNew, values, controls, closed, submit, onClose } = props;
  const fields = useFields(collection, isNew, props);
  const begun = useMemo(
    () =>
      Object.fromEntries(
        Object.entries(values).filter(
          ([name]) => isNew || fields.some((field) => field.name === name),
        ),
      ),
    [],
  );
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        collection={collection}
        fields={fields}
        values={begun}
        action={action}
        controls={controls}
        closed={closed}
        submit={submit}
        onCancel={onClose}
      >
        {props.children}
      </Form>
    </Dialog>
  );
}
