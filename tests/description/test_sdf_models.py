"""Models of an SDF: which one is read, what is left out, gravity and inertias of its links."""

from __future__ import annotations

from pathlib import Path

import pytest

from symgen.description.asking import FileOptions
from symgen.description.loading import load
from symgen.description.readers._sdf import models
from symgen.description.readers.sdf import read
from symgen.description.snapping import Snapper
from symgen.description.tree import Tree
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import Shift
from tests.shared.sdf_texts import A, B, J, joint, link, model, model_text

MOVING = model_text(model(A, B, J))
STILL = model_text(model(A, name="still"))
INSTRUCTIONS = "<!-- a --><?b c?>"


def tree(text: str, chosen: str | None = None, floating: bool = False) -> Tree:
    return read(text.encode(), "r.sdf", Snapper(), FileOptions(model=chosen, floating=floating))


def of_world(*models: str, chosen: str | None = None) -> Tree:
    inside = f"{INSTRUCTIONS}<gravity>0 0 -9.81</gravity>{''.join(models)}"
    return tree(f'<sdf version="1.7">{INSTRUCTIONS}<world name="w">{inside}</world></sdf>', chosen)


def named(text: str, name: str) -> str:
    return text.replace('name="r"', f'name="{name}"')


def refusal(*models: str, chosen: str | None = None) -> str:
    with pytest.raises(DescriptionError) as caught:
        of_world(*models, chosen=chosen)
    return str(caught.value)


# -- the model that is read ------------------------------------------------------------------------


def test_the_only_moving_model_is_read() -> None:
    fixed = named(MOVING.replace('type="revolute"', 'type="fixed"'), "fixed")
    static = named(MOVING.replace("</model>", f"{INSTRUCTIONS}<static>true</static></model>"), "s")
    for pair in ((STILL, MOVING), (MOVING, STILL), (fixed, MOVING), (static, MOVING)):
        read_tree = of_world(*pair)
        assert read_tree.name == "r"
        (text,) = (note.text for note in read_tree.notes if "is read; left out" in note.text)
        assert text.startswith("model 'r' of the file is read; left out: '")
    assert of_world(MOVING).notes == tree(f'<sdf version="1.7">{MOVING}</sdf>').notes
    for word in ("1", "True ", " true"):
        assert of_world(static.replace("true", word), MOVING).name == "r"
    both = refusal(static.replace("<static>true", "<static>false"), MOVING)
    assert "it has 2 models with joints: 's', 'r'; choose one, such as --model s" in both
    assert "it has 2 models with joints" in refusal(static.replace(">true<", "><"), MOVING)
    collides = MOVING.replace("</model>", "<self_collide>true</self_collide></model>")
    assert of_world(STILL, collides).name == "r"
    # an included model may move
    outer = '<model name="o"><include><uri>model://lost</uri></include></model>'
    assert "it has 2 models with joints: 'o', 'r'" in refusal(outer, MOVING)
    # the first model is read if none moves
    assert of_world(STILL, named(STILL, "x").replace("still", "x")).name == "still"


def test_a_model_may_be_chosen() -> None:
    two = (MOVING, named(MOVING, "second"))
    assert [of_world(*two, chosen=name).name for name in ("r", "second")] == ["r", "second"]
    assert "did you mean 'second'" in refusal(*two, chosen="secnd")
    assert "the file has no model; give a file with a model" in refusal()
    assert "r.sdf: it has 2 models with joints: 'r', 'r:2'; choose one" in refusal(MOVING, MOVING)
    heavier = MOVING.replace("<mass>2</mass>", "<mass>3</mass>")
    repeated = (MOVING, heavier, MOVING)
    for name, mass in (("r", 2), ("r:2", 3), ("r:3", 2)):
        assert of_world(*repeated, chosen=name).links[-1].inertials[0].mass == mass


def test_many_models_are_counted() -> None:
    many = [named(MOVING, f"m{k}") for k in range(10)]
    listed = ", ".join(f"'m{k}'" for k in range(8))
    assert f"it has 10 models with joints: {listed} and 2 more; choose" in refusal(*many)


def test_missing_included_models_are_refused_only_if_they_are_needed() -> None:
    lost = "<include><uri>model://lost</uri></include>"
    with_name = "<include><uri>model://x</uri><name>second</name></include>"
    assert of_world(lost, MOVING).name == "r"
    assert "none of the included models exists: 'lost', 'second'" in refusal(lost, with_name)
    with pytest.raises(
        DescriptionError, match="include 'model://lost': the included file does not"
    ):
        of_world(lost, MOVING, chosen="lost")


def test_joints_of_a_world_belong_to_the_model_that_they_touch() -> None:
    weld = '<joint name="w" type="fixed"><parent>{}</parent><child>{}</child></joint>'
    second = named(MOVING, "s")
    on_world = of_world(MOVING, weld.format("world", "r::a"))
    assert [joint.name for joint in on_world.connections] == ["j", "w"]
    assert on_world.links[0].name == "world"
    elsewhere = of_world(MOVING, second, weld.format("world", "s::a"), chosen="r")
    assert [joint.name for joint in elsewhere.connections] == ["j"]
    assert "it connects the model to another model, 's'; put both into one" in refusal(
        MOVING, second, weld.format("r::a", "s::a"), chosen="r"
    )


# -- the base --------------------------------------------------------------------------------------


def test_the_base_is_the_root_link_or_the_world() -> None:
    free = "no joint leads to 'world': in Gazebo the model moves freely; use --base free for that"
    plain = tree(model(A, B, J))
    assert [link.name for link in plain.links] == ["a", "b"]
    assert free in [note.text for note in plain.notes]
    grounded = tree(model(A, B, J, joint("w", "world", "a", "", "fixed")))
    assert [link.name for link in grounded.links] == ["world", "a", "b"]
    assert free not in [note.text for note in grounded.notes]
    turned = tree(model(A, B, J).replace('r">', 'r"><pose>1 2 3 0 0 0.5</pose>', 1))
    assert [link.name for link in turned.links] == ["r_placed", "a", "b"]
    assert (turned.connections[0].name, turned.connections[0].kind) == ("r_placed_joint", "fixed")
    text = "the file rotates link a: the base is r_placed, at its origin with the axes of the world"
    assert text in [note.text for note in turned.notes]
    shifted = tree(model(A, B, J).replace('r">', 'r"><pose>1 2 3 0 0 0</pose>', 1))
    assert [link.name for link in shifted.links] == ["a", "b"]


def test_a_link_may_have_the_name_of_the_world() -> None:
    renamed = tree(model(link("world"), B, joint("j", "world", "b")))
    assert [(joint.parent, joint.child) for joint in renamed.connections] == [("world", "b")]
    assert [link.name for link in renamed.links] == ["world", "b"]
    assert all(link.inertials for link in renamed.links)  # the link itself, not the fixed world
    with pytest.raises(DescriptionError, match="'world' is not a link, joint, frame or model here"):
        tree(model(A, B, joint("j", "a", "world")))


def test_a_missing_text_is_refused_as_a_missing_element() -> None:
    empty = J.replace("<parent>a</parent>", "<parent/>")
    with pytest.raises(DescriptionError, match="<parent> is missing; add <parent>…</parent>"):
        tree(model(A, B, empty))


def test_several_roots_move_freely_or_are_refused() -> None:
    alone = link("c")
    with pytest.raises(DescriptionError, match="the links 'a', 'c' have no joint to a parent; in"):
        tree(model(A, B, alone, J))
    weld = joint("w", "world", "a", "", "fixed")
    with pytest.raises(
        DescriptionError, match="the link 'c' has no joint to a parent, while others"
    ):
        tree(model(A, B, alone, J, weld))
    afloat = tree(model(A, B, alone, J), floating=True)
    assert afloat.afloat
    free = [(joint.name, joint.parent, joint.child) for joint in afloat.connections[:2]]
    assert free == [("root_joint_a", "world", "a"), ("root_joint_c", "world", "c")]
    assert [joint.kind for joint in afloat.connections] == ["free", "free", "revolute"]
    taken = tree(model(A, B, alone, J.replace('name="j"', 'name="root_joint_a"')), floating=True)
    assert taken.connections[0].name == "root_joint_a_"
    assert not tree(model(A, B, J), floating=True).afloat
    assert tree(model(A, B, alone, J, weld), floating=True).afloat


# -- links -----------------------------------------------------------------------------------------


def notes(inside: str, kind: str = "") -> list[str]:
    declared = tree(model(A, link("b", inside), J)).notes
    return [n.text for n in declared if "'b'" in n.text and (not kind or n.kind == kind)]


def test_parts_of_a_link_that_are_not_modelled_are_noted() -> None:
    assert notes("") == []
    assert notes("<enable_wind>true</enable_wind>", "info") == [
        "line 3, link 'b': <enable_wind> is left out: wind is not modelled"
    ]
    assert notes("<enable_wind>false</enable_wind><must_be_base_link>0</must_be_base_link>") == []
    assert notes("<must_be_base_link>1</must_be_base_link>") == [
        "line 3, link 'b': <must_be_base_link> is left out: the joints determine the base link"
    ]
    decay = "<velocity_decay>{}</velocity_decay>"
    assert (
        notes(decay.format("<linear>0</linear><angular>0</angular>"))
        == notes(decay.format(""))
        == []
    )
    for name in ("linear", "angular"):
        assert notes(decay.format(f"<{name}>0.1</{name}>"), "warning") == [
            "line 3, link 'b': velocity_decay: the decay of its velocity is not modelled"
        ]


def test_the_added_mass_of_a_fluid_is_noted_unless_it_is_zero() -> None:
    def noted(entries: str) -> bool:
        inertial = f"<inertial><fluid_added_mass>{entries}</fluid_added_mass></inertial>"
        texts = [note.text for note in tree(model(A, link("b", "", inertial), J)).notes]
        return any("the added mass of a fluid is not modelled" in text for text in texts)

    assert noted("<xx>1</xx>")
    assert noted("<xx>0</xx><yy>0.01</yy>")
    assert not noted("<xx>0</xx><yy> 0.00 </yy><zz/>")
    assert not noted("")


def test_an_inertia_that_must_be_computed_is_refused() -> None:
    for attribute, refused in (('auto="true"', True), ('auto="false"', False), ("", False)):
        text = model(A, link("b", "", f"<inertial {attribute}><mass>1</mass></inertial>"), J)
        if refused:
            with pytest.raises(
                DescriptionError, match=r"from its collisions \(auto\), which symgen"
            ):
                tree(text)
        else:
            assert tree(text).links[1].inertials[0].mass == 1
    posed = '<inertial><pose relative_to="a">0 0 0 0 0 0</pose></inertial>'
    with pytest.raises(
        DescriptionError, match="its pose has relative_to, but an inertial is always"
    ):
        tree(model(A, link("b", "", posed), J))


@pytest.mark.parametrize(
    ("inertial", "missing"),
    [
        ("", ["declares no <inertial>; SDF's defaults are used: 1 kg and moments of 1 kg m²"]),
        (
            "<inertial/>",
            [
                "declares no <inertia>; SDF's defaults are used: moments of 1 kg m²",
                "declares no <mass>; SDF's default is used: 1 kg",
            ],
        ),
        (
            "<inertial><mass>1</mass><inertia><iyy>1</iyy></inertia></inertial>",
            ["declares no ixx, izz; SDF's default is used: 1 kg m²"],
        ),
    ],
)
def test_defaults_are_warnings_where_they_have_an_effect(inertial: str, missing: list[str]) -> None:
    for kind, joints in (
        ("warning", (J,)),
        ("info", (joint("w", "world", "a", "", "fixed"), joint("j", "a", "b", "", "fixed"))),
    ):
        declared = tree(model(A, link("b", "", inertial), *joints)).notes
        texts = [(n.kind, n.text.partition(": ")[2]) for n in declared if "link 'b'" in n.text]
        assert [(k, t.removeprefix("inertial: ").removeprefix("inertia: ")) for k, t in texts] == [
            (kind, text) for text in missing
        ]


# -- gravity ---------------------------------------------------------------------------------------


def gravity(*links: str, floating: bool = False) -> object:
    joints = [joint(f"j{k}", "a", f"b{k}") for k in range(len(links) - 1)]
    return tree(model(*links, *joints), floating=floating).gravity


def test_gravity_is_off_if_it_is_off_for_all_moving_links_with_mass() -> None:
    off, on = "<gravity>false</gravity>", "<gravity>true</gravity>"
    massless = "<inertial><mass>0</mass></inertial>"
    assert gravity(A, link("b0", off)) == (0, 0, 0)
    assert gravity(link("a", off), link("b0", on)) is None
    assert gravity(A, link("b0", on)) is gravity(A, link("b0")) is None
    assert gravity(A, link("b0", off), link("b1", "", massless)) == (0, 0, 0)
    assert gravity(A, link("b0", off, massless), link("b1")) is None
    assert gravity(A, link("b0", off, massless)) is None
    with pytest.raises(
        DescriptionError, match="gravity is off for this link but on for 'b1'; symgen"
    ):
        gravity(A, link("b0", off), link("b1"))


def test_a_root_link_that_moves_freely_counts_for_gravity() -> None:
    off = "<gravity>false</gravity>"
    with pytest.raises(DescriptionError, match="gravity is off for this link but on for 'a'"):
        gravity(A, link("b0", off), floating=True)
    assert gravity(link("a", off), link("b0", off), floating=True) == (0, 0, 0)


# -- inner models ----------------------------------------------------------------------------------


def test_models_are_nested_as_deep_as_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def nested(depth: int) -> Tree:
        inside = A + B + J
        for k in range(depth):
            inside = f'<model name="m{k}">{inside}</model>'
        return tree(f'<sdf version="1.7"><model name="r">{inside}</model></sdf>')

    assert models.DEEPEST == 50
    monkeypatch.setattr(models, "DEEPEST", 2)
    assert [link.name for link in nested(2).links] == ["m1::m0::a", "m1::m0::b"]
    with pytest.raises(DescriptionError, match="models are nested more than 2 deep; reduce the"):
        nested(3)


# -- included models -------------------------------------------------------------------------------


def test_placement_frames_and_merged_models(tmp_path: Path) -> None:
    inner = named(MOVING, "inner").replace(
        "</model>", '<frame name="f"><pose>0 1 0 0 0 0</pose></frame></model>'
    )
    (tmp_path / "x.sdf").write_text(f'<sdf version="1.9">{inner}</sdf>')

    def read_with(inside: str, attributes: str, weld: str) -> dict[str, tuple[object, ...]]:
        include = f"<include {attributes}><uri>x.sdf</uri>{inside}</include>"
        elements = ('<link name="base"/>', include, joint("w", "base", weld, "", "fixed"))
        path = tmp_path / "main.sdf"
        path.write_text(model(*elements, version="1.9"))
        frames = load(path).frames
        return {
            frame.name: tuple(step.xyz for step in frame.pose if isinstance(step, Shift))
            for frame in frames
            if frame.body < 0
        }

    pose = "<pose>5 0 0 0 0 0</pose>"
    plain = read_with(pose, "", "inner::a")
    assert plain["inner::a"] == ((5, 0, 0),)
    placed = read_with(f"{pose}<placement_frame>f</placement_frame>", "", "inner::a")
    assert placed["inner::a"] == ((5, -1, 0),)
    merged = read_with(pose, 'merge="true"', "a")
    assert merged["a"] == ((5, 0, 0),)
    assert "inner::a" not in merged
