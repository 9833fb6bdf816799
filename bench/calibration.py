"""How well a calibrated estimate counts for a model whose tokenizer it does not have.

The model is played by an exact vocabulary, the estimate is a quarter of the characters. Each call reports what it took;
from the twenty-first on, counts are compared with the truth. English is the documentation that comes with Python, code
its library, JSON what can be listed of that library, Chinese made of common words.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import cycle
from pathlib import Path
from random import Random

import brim
from bench.outcome import Cell, Gate, Outcome, Setting, Table
from brim.meter.base import BaseMeter
from brim.meter.calibrated import Calibrated, Mix, begin
from brim.meter.calibration import NOTHING

MODELS = ("o200k_base", "cl100k_base", "qwen3", "gemma3", "llama2", "mistral_v3", "deepseek_v3")
KINDS = ("English", "code", "JSON", "Chinese", "mixed")
CALLS, LEARNED = 60, 20
LIMITS = {"a session that grows": (1.0, 5.0), "prompts made anew": (2.5, 5.5)}
"""The most percent that a count may be below the truth, and that counts may be above it on average."""

_CHINESE = [
    "我们",
    "今天",
    "需要",
    "一个",
    "新的",
    "方法",
    "来",
    "解决",
    "这个",
    "问题",
    "他",
    "说",
    "时间",
    "不够",
    "但是",
    "结果",
    "很好",
    "城市",
    "学生",
    "工作",
    "系统",
    "数据",
    "模型",
    "用户",
    "接口",
    "服务器",
    "网络",
    "文件",
    "配置",
    "测试",
    "版本",
    "错误",
    "日志",
    "性能",
    "内存",
    "缓存",
    "请求",
    "响应",
    "参数",
    "函数",
    "变量",
    "类型",
    "对象",
    "数组",
    "字符串",
    "循环",
    "条件",
    "因为",
    "所以",
    "如果",
    "那么",
    "然后",
    "首先",
    "其次",
    "最后",
    "同时",
    "另外",
    "可以",
    "应该",
    "必须",
    "已经",
    "正在",
    "可能",
    "非常",
    "比较",
    "特别",
    "主要",
    "重要",
    "简单",
    "复杂",
    "不同",
    "相同",
    "全部",
    "部分",
    "开始",
    "结束",
    "运行",
    "停止",
    "创建",
    "删除",
    "修改",
    "查询",
    "保存",
    "读取",
    "发送",
    "接收",
    "连接",
    "断开",
    "上传",
    "下载",
    "安装",
    "更新",
    "部署",
    "监控",
    "分析",
    "设计",
    "实现",
    "优化",
    "经济",
    "社会",
    "文化",
    "历史",
    "教育",
    "科学",
    "技术",
    "环境",
    "健康",
    "政府",
    "公司",
    "市场",
    "产品",
    "价格",
    "质量",
    "管理",
    "计划",
    "目标",
    "项目",
    "团队",
    "成员",
    "会议",
    "报告",
    "建议",
    "春天",
    "夏天",
    "秋天",
    "冬天",
    "早上",
    "晚上",
    "昨天",
    "明天",
    "北京",
    "上海",
    "中国",
    "世界",
    "国家",
    "人民",
    "孩子",
    "老师",
    "医生",
    "朋友",
    "家庭",
    "生活",
    "音乐",
    "电影",
    "书籍",
    "故事",
    "的",
    "了",
    "在",
    "是",
    "和",
    "与",
    "或",
    "也",
    "都",
    "就",
    "不",
    "没有",
    "对",
    "从",
    "到",
    "把",
    "被",
    "给",
    "让",
    "向",
    "于",
    "之",
    "其",
    "这",
    "那",
    "它",
    "他们",
    "我",
    "你",
    "一",
    "二",
    "三",
    "十",
    "百",
    "千",
    "万",
    "个",
    "次",
    "种",
    "条",
]
_STOPS = ("，", "，", "。", "。\n", "、", "：", "；")


def run(setting: Setting) -> Outcome:
    models = MODELS[:2] if setting.quick else MODELS
    tables, gates = [], []
    for title, (under, over) in LIMITS.items():
        grows = title == "a session that grows"
        rows: list[Sequence[Cell]] = []
        worst_under, worst_over = 0.0, 0.0
        for kind in KINDS:
            found = [off for model in models for off in _offs(brim.meter(model), kind, grows=grows)]
            means = [_mean(_offs(brim.meter(model), kind, grows=grows)) for model in models]
            raw = [off for model in models for off in _offs(brim.meter(model), kind, grows=grows, learn=False)]
            rows.append([kind, _mean(found), max(means), -min(found), _mean(raw), -min(raw)])
            worst_under, worst_over = max(worst_under, -min(found)), max(worst_over, _mean(found))
        tables.append(_table(title, rows, models))
        gates += [
            Gate(name=f"calibration: under the truth, {title}", value=worst_under, limit=under, unit="%"),
            Gate(name=f"calibration: above the truth on average, {title}", value=worst_over, limit=over, unit="%"),
        ]
    return Outcome(name="calibration", tables=tables, gates=gates)


def _table(title: str, rows: Sequence[Sequence[Cell]], models: Sequence[str]) -> Table:
    columns = ["texts", "above, mean %", "worst model %", "most below %", "chars/4: above, mean %", "most below %"]
    calls = f"Calls {LEARNED + 1} to {CALLS}, after {LEARNED} recorded, with {', '.join(models)} as the model."
    return Table(title=f"Counts against the truth: {title}", columns=columns, rows=rows, notes=[calls])


@cache
def _offs(truth: BaseMeter, kind: str, *, grows: bool, learn: bool = True) -> list[float]:
    """Return by how many percent the counts of the later calls are above the truth."""
    inner = brim.meter("chars/4")
    meter = Calibrated(inner)
    known, found = begin(inner), []
    random = Random(f"{kind} {grows}")
    pool = cycle(_texts(kind))
    texts: list[str] = []
    for call in range(CALLS):
        if not grows:
            texts = []
        texts += [next(pool) for _ in range(random.randrange(1, 4) if grows else random.randrange(6, 30))]
        took = sum(map(truth.count, texts))
        if call >= LEARNED:
            meter = Calibrated(inner, known, like=meter)
            counted = sum(map(meter.measure if learn else inner.count, texts))
            found.append(100 * (counted - took) / took)
        known = known.record(_mix(meter, texts), took) if learn else known
    return found


def _mix(meter: Calibrated, texts: Sequence[str]) -> Mix:
    return sum(map(meter.mix, texts), start=NOTHING)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


@cache
def _texts(kind: str) -> list[str]:
    """Return texts of a kind, of 200 to 3,000 characters, in an order of no meaning."""
    random = Random(kind)
    if kind == "mixed":
        texts = [text for each in KINDS[:-1] for text in _texts(each)[:100]]
    else:
        source = {"English": _english, "code": _code, "JSON": _json, "Chinese": _chinese}[kind]()
        texts = list(_pieces(source, random, 1_000 if kind == "Chinese" else 3_000))
    random.shuffle(texts)
    return texts


def _pieces(text: str, random: Random, longest: int) -> Iterator[str]:
    at = 0
    while at + 200 < len(text):
        size = random.randrange(200, longest)
        yield text[at : at + size]
        at += size


def _english() -> str:
    from pydoc_data.topics import topics

    return "\n\n".join(topics.values())[:400_000]


def _library() -> list[Path]:
    return sorted(Path(os.__file__).parent.glob("[a-h]*.py"))


def _code() -> str:
    return "".join(path.read_text(encoding="utf-8", errors="replace") for path in _library())[:400_000]


def _json() -> str:
    random = Random(3)
    rows = []
    for path in _library()[:16]:
        nodes = ast.walk(ast.parse(path.read_bytes()))
        found = [
            {
                "name": node.name,
                "line": node.lineno,
                "arguments": [each.arg for each in node.args.args],
                "share": round(node.lineno / 977, 4),
                "about": (ast.get_docstring(node) or "")[:60] or None,
            }
            for node in nodes
            if isinstance(node, ast.FunctionDef)
        ]
        rows += [json.dumps(found[i : i + 8], indent=random.choice((None, 2))) for i in range(0, len(found), 8)]
    return "\n".join(rows)[:250_000]


def _chinese() -> str:
    random = Random(4)
    parts = []
    for _ in range(6_000):
        parts += random.choices(_CHINESE, k=random.randrange(4, 12))
        parts.append(random.choice(_STOPS))
    return "".join(parts)[:80_000]
