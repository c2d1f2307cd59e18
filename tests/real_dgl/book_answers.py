"""What a partition book and its policies say of ranges, types and IDs: the same questions to DGL's and to ours."""


def answers(book, policies, question):
    """Answers of a book of torch tensors; `policies` are the classes of policies for nodes and for edges."""
    return {
        "num_partitions": book.num_partitions(),
        "metadata": book.metadata(),
        "ntypes": book.ntypes,
        "etypes": book.etypes,
        "canonical_etypes": [list(etype) for etype in book.canonical_etypes],
        "local_ntype_offset": [int(x) for x in book.local_ntype_offset],
        "local_etype_offset": [int(x) for x in book.local_etype_offset],
        "nodes": _of_kind(book, question["part"], question["nids"], book.ntypes, "nid", policies[0]),
        "edges": _of_kind(book, question["part"], question["eids"], book.canonical_etypes, "eid", policies[1]),
    }


def _of_kind(book, part, given, types, kind, policy_of):
    import torch

    to_part, to_ids = getattr(book, f"{kind}2partid"), getattr(book, f"partid2{kind}s")
    to_local = getattr(book, f"{kind}2local{kind}")
    per_type = book.map_to_per_ntype if kind == "nid" else book.map_to_per_etype
    homogeneous = book.map_to_homo_nid if kind == "nid" else book.map_to_homo_eid
    ids, mine = torch.tensor(given, dtype=torch.int64), to_ids(part)
    type_ids, typed = per_type(ids)
    found = {
        "part": to_part(ids).tolist(),
        "ids": mine.tolist(),
        "local": to_local(mine, part).tolist(),
        "per_type": [type_ids.tolist(), typed.tolist()],
        "dtypes": [str(type_ids.dtype), str(typed.dtype)],
    }
    for number, name in enumerate(types):
        policy, of_type, owned = policy_of(book, name), typed[type_ids == number], to_ids(part, name)
        found[str(number)] = [
            to_part(of_type, name).tolist(),
            owned.tolist(),
            to_local(owned, part, name).tolist(),
            homogeneous(of_type, name).tolist(),
            policy.to_local(owned).tolist(),
            policy.to_partid(of_type).tolist(),
            policy.get_part_size(),
            policy.get_size(),
            policy.policy_str,
        ]
    return found
